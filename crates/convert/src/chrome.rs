//! `chrome`: the events as Chrome JSON, for Perfetto and chrome://tracing.

use super::{ConvertError, Outcome, failed, listed};
use ouzel::engine::Listed;
use ouzel::formats::chrome::write::ChromeWriter;
use ouzel::{Options, Trace};
use ouzel_answers::Written;
use ouzel_files::output::Target;

/// Writes the file.
pub(crate) fn write(trace: &Trace, options: &Options<'_>, target: &Target) -> Result<Outcome, ConvertError> {
    let failed = |error| failed(target.path(), error);
    let file = target.begin()?;
    let writer = ChromeWriter::create(file.writer(), trace.definitions()).map_err(failed)?;
    let Listed { sink, outcome, report, .. } = listed(trace, options, writer)?;
    let (n_events, unsaid) = outcome.and_then(|()| sink.finish()).map_err(failed)?;
    Ok((report, unsaid, vec![Written::new(target.path(), n_events, file.complete()?)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel::engine::list;
    use ouzel::formats::chrome::ChromeSource;
    use ouzel::model::{
        Borders, ChunkBuffer, EventKind, Filter, LinkEnd, LocationId, Needs, ReadPlan, TraceSource,
    };
    use ouzel_testkit::ToyTrace;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    /// A file in memory.
    #[derive(Debug, Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is written for a part of a trace.
    fn written(trace: &dyn TraceSource, filter: &Filter) -> String {
        let file = Shared::default();
        let writer = ChromeWriter::create(file.clone(), trace.definitions()).unwrap();
        let locations = trace.definitions().location_ids();
        let Listed { sink, outcome, .. } = list(trace, filter, locations, writer, None).unwrap();
        outcome.and_then(|()| sink.finish()).unwrap();
        String::from_utf8(file.0.lock().unwrap().clone()).unwrap()
    }

    /// Enters, leaves and numbers of link ends of each location.
    fn told(trace: &dyn TraceSource) -> Vec<(String, Vec<String>, [usize; 2])> {
        let definitions = trace.definitions();
        let plan = ReadPlan::all(Needs::ALL_EVENTS);
        let of_location = |id: LocationId| {
            let (mut rows, mut links) = (Vec::new(), [0, 0]);
            let mut reader = trace.open(id, &plan).unwrap();
            loop {
                let mut chunk = ChunkBuffer::default();
                let more = reader.read(&mut chunk).unwrap();
                let row = |row: usize| match chunk.kind[row] {
                    EventKind::Enter => {
                        let name = &definitions.region(chunk.region[row]).name;
                        Some(format!("{} {name}", chunk.time[row].0))
                    }
                    EventKind::Leave => Some(format!("{} end", chunk.time[row].0)),
                    _ => None,
                };
                rows.extend((0..chunk.len()).filter_map(row));
                chunk.links.iter().for_each(|link| links[usize::from(link.end == LinkEnd::To)] += 1);
                if !more {
                    return (definitions.location(id).name.to_string(), rows, links);
                }
            }
        };
        definitions.location_ids().map(of_location).collect()
    }

    #[test]
    fn arrows_of_a_part_connect_what_they_connect_in_the_whole() {
        let toy = ToyTrace::new(
            "
            0: enter a @0, send>1 bytes 1 @10, send>1 bytes 2 @20, send>1 bytes 3 @30, leave @40
            1: enter b @0, recv<0 bytes 1 @25, recv<0 bytes 2 @35, recv<0 bytes 3 @38, leave @40",
        );
        // Sends of 2 and 3, the receive of 1: none of them is the other side of another.
        let part = Filter { time_ns: Some((15, 31)), borders: Borders::Trim, ..Filter::default() };
        let text = written(&toy, &part);
        let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
        let events = whole["traceEvents"].as_array().expect("there are events");
        let arrows = events.iter().filter(|event| event["cat"] == "message");
        let mut ids: Vec<u64> = arrows.filter_map(|event| event["id"].as_u64()).collect();
        ids.sort_unstable();
        assert_eq!(ids, [0, 1, 2]);
    }

    #[test]
    fn what_is_written_is_read_back_with_messages_as_links() {
        let toy = ToyTrace::new(
            "
            0: enter main @0, enter MPI_Send @10, send>1 @11, leave @12, leave @40
            1: enter main @5, enter MPI_Recv @7, recv<0 @13, leave @14, leave @30",
        );
        let text = written(&toy, &Filter::default());
        let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(whole["traceEvents"].as_array().is_some_and(|events| 12 < events.len()));
        let back = ChromeSource::from_text("back.json", text.into_bytes()).unwrap();
        let (mut wanted, found) = (told(&toy), told(&back));
        (wanted[0].2, wanted[1].2) = ([1, 0], [0, 1]);
        assert_eq!(found, wanted);
        assert!(back.notices().is_empty(), "{:?}", back.notices());
    }

    #[test]
    fn kernels_stay_kernels_on_streams() {
        let text = r#"{"schemaVersion":1,"traceEvents":[
            {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":5,"ts":1,"dur":2,"args":{"correlation":9}},
            {"ph":"C","name":"memory","pid":5,"ts":2,"args":{"value":3}},{"ph":"i","name":"a \"mark\"","pid":5,"tid":5,"ts":2},
            {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":4,"dur":2.5,"args":{"correlation":9,"stream":7}},
            {"ph":"X","cat":"gpu_memcpy","name":"copy","pid":0,"tid":7,"ts":8,"dur":1,"args":{"stream":7,"bytes":64}}]}"#;
        let first = ChromeSource::from_text("first.json", text.as_bytes().to_vec()).unwrap();
        let text = written(&first, &Filter::default());
        let back = ChromeSource::from_text("back.json", text.into_bytes()).unwrap();
        assert_eq!(told(&back).len(), told(&first).len());
        let of = |source: &ChromeSource| -> Vec<_> {
            let regions = source.definitions().regions.iter();
            let mut roles: Vec<_> = regions.map(|region| (region.name.to_string(), region.role)).collect();
            roles.sort();
            roles
        };
        assert_eq!(of(&back), of(&first));
    }
}
