//! What a thread does in each of its steps.

use super::machine::{Call, Item, Machine, Needed, Occurrence, Operation};
use super::{HostStep, Recording, SimulatedProcess};
use crate::ToyPayload;
use ouzel_model::{DeviceStep, LinkEnd, LocationGroupId, LocationId};

impl Machine<'_> {
    /// Enters a call that takes some ticks at least, and is for a class of waiting.
    fn call(
        &mut self,
        (process, thread): (usize, usize),
        (name, class, ticks): (&'static str, Option<&'static str>, u64),
        needed: Needed,
        step: Option<DeviceStep>,
    ) {
        if !name.contains("Launch") && !name.contains("Memcpy") {
            let region = self.trace.region(name);
            self.push(process, thread, ToyPayload::Enter(region));
        }
        if let Some(step) = step.filter(|_| self.recording == Recording::Full) {
            self.push(process, thread, ToyPayload::Device(step));
        }
        let is_met = self.is_met(&needed);
        let is_useless = is_met && class == Some("host_waits_for_device");
        let (enter, earliest) = (self.now, self.now + ticks);
        self.threads[process][thread].call =
            Some(Call { name, class, enter, earliest, needed, is_useless, is_met });
    }

    pub(super) fn location(&self, process: usize, stream: usize) -> LocationId {
        let before = |it: &SimulatedProcess| it.threads.len() + it.streams.len();
        let first: usize = self.processes[..process].iter().map(before).sum();
        LocationId::from_index(first + self.processes[process].threads.len() + stream)
    }

    /// The accelerator context of a device: each process has one group for itself, then one for each device.
    fn device(&self, process: usize, device: usize) -> LocationGroupId {
        let n_devices = |it: &SimulatedProcess| it.streams.iter().max().map_or(0, |max| max + 1);
        let first: usize = self.processes[..process].iter().map(|it| 1 + n_devices(it)).sum();
        LocationGroupId::from_index(first + 1 + device)
    }

    /// What is in a stream and not done.
    fn open_in(&self, process: usize, stream: usize) -> (Vec<usize>, Vec<usize>) {
        let stream = &self.streams[process][stream];
        let operation = |it: &Item| if let Item::Operation(it) = it { Some(*it) } else { None };
        let record = |it: &Item| if let Item::Await { record, .. } = it { Some(*record) } else { None };
        let operations =
            stream.running.into_iter().chain(stream.items.iter().filter_map(operation)).collect();
        (operations, stream.items.iter().filter_map(record).collect())
    }

    fn ends_of(&self, process: usize, streams: impl Iterator<Item = usize>) -> Needed {
        let (mut operations, mut records) = (Vec::new(), Vec::new());
        for stream in streams {
            let (some, more) = self.open_in(process, stream);
            operations.extend(some);
            records.extend(more);
        }
        Needed::Ends(operations, records)
    }

    /// Puts an operation into its stream, by a call of so many ticks.
    fn launch(&mut self, (process, thread): (usize, usize), call: u64, operation: &Operation) -> usize {
        let (launch, stream) = (operation.launch, operation.stream);
        let number = self.operations.len();
        let code = self.threads[process][thread].code.iter();
        // The first of several.
        let most = code.rev().max_by_key(|(_, ticks)| *ticks);
        let code = most.map_or(format!("main/{launch}"), |(path, _)| path.clone());
        let region = self.trace.region(launch);
        self.push(process, thread, ToyPayload::Enter(region));
        if self.recording != Recording::NamesOnly {
            self.push(process, thread, ToyPayload::Link(operation.link, LinkEnd::From));
        }
        self.operations.push(Operation { code, launched: self.now + call, ..operation.clone() });
        self.streams[process][stream].items.push_back(Item::Operation(number));
        number
    }

    /// A thread begins its next step.
    pub(super) fn step(&mut self, process: usize, thread: usize, step: HostStep) {
        let place = (process, thread);
        let devices = &self.processes[process].streams[..];
        let of_device = |stream: usize| (0..devices.len()).filter(move |&it| devices[it] == devices[stream]);
        let waits = Some("host_waits_for_device");
        match step {
            HostStep::Work(name, ticks) => self.call(place, (name, None, ticks), Needed::Nothing, None),
            HostStep::Launch { .. }
            | HostStep::Copy { .. }
            | HostStep::PageableCopy(..)
            | HostStep::Collective(..) => {
                self.launch_step(place, step);
            }
            HostStep::AwaitStream(stream) => {
                let needed = self.ends_of(process, [stream].into_iter());
                let step = DeviceStep::AwaitStream(self.location(process, stream));
                self.call(place, ("cudaStreamSynchronize", waits, 2), needed, Some(step));
            }
            HostStep::AwaitDevice(stream) => {
                let needed = self.ends_of(process, of_device(stream));
                let step = DeviceStep::AwaitDevice(self.device(process, devices[stream]));
                self.call(place, ("cudaDeviceSynchronize", waits, 2), needed, Some(step));
            }
            HostStep::Free(stream) => {
                let needed = self.ends_of(process, of_device(stream));
                self.call(place, ("cudaFree", Some("blocking_copy"), 1), needed, None);
            }
            HostStep::RecordEvent(event, stream) => {
                self.records.push(Occurrence::default());
                let record = self.records.len() - 1;
                self.events.insert((process, event), record);
                self.streams[process][stream].items.push_back(Item::Record(record));
                let event = event_id(process, event);
                let step = DeviceStep::RecordEvent { event, stream: self.location(process, stream) };
                self.call(place, ("cudaEventRecord", None, 1), Needed::Nothing, Some(step));
            }
            HostStep::AwaitEvent(event) => {
                let Some(&record) = self.events.get(&(process, event)) else { return };
                let needed = Needed::Ends(Vec::new(), vec![record]);
                let step = DeviceStep::AwaitEvent(event_id(process, event));
                self.call(place, ("cudaEventSynchronize", waits, 2), needed, Some(step));
            }
            HostStep::StreamAwaits(stream, event) => {
                let Some(&record) = self.events.get(&(process, event)) else { return };
                let path = "cudaStreamWaitEvent";
                self.streams[process][stream].items.push_back(Item::Await { record, path });
                let (event, location) = (event_id(process, event), self.location(process, stream));
                let step = DeviceStep::StreamAwaitsEvent { stream: location, event };
                self.call(place, (path, None, 1), Needed::Nothing, Some(step));
            }
        }
    }

    /// A step that puts an operation into a stream.
    fn launch_step(&mut self, (process, thread): (usize, usize), step: HostStep) {
        let (now, place) = (self.now, (process, thread));
        let link = 1 + self.operations.len() as u64;
        let kernel = Operation {
            process,
            is_kernel: true,
            can_begin: now + 1,
            link,
            thread,
            launch: "cudaLaunchKernel",
            ..Operation::default()
        };
        match step {
            HostStep::Launch { stream, name, ticks, call, delay } => {
                let operation = Operation { stream, name, ticks, can_begin: now + delay, ..kernel };
                self.launch(place, call, &operation);
                self.call(place, ("cudaLaunchKernel", None, call), Needed::Nothing, None);
            }
            HostStep::Copy { .. } | HostStep::PageableCopy(..) => {
                let (stream, ticks, blocks, name) = match step {
                    HostStep::Copy { stream, ticks, blocks } => (stream, ticks, blocks, "[memcpy]"),
                    HostStep::PageableCopy(stream, ticks) => {
                        (stream, ticks, true, "Memcpy HtoD (Pageable -> Device)")
                    }
                    _ => return,
                };
                let launch = if blocks { "cudaMemcpy" } else { "cudaMemcpyAsync" };
                let is_kernel = false;
                let own =
                    self.launch(place, 1, &Operation { stream, name, is_kernel, ticks, launch, ..kernel });
                if blocks {
                    // Its launch is over when it is done.
                    self.operations[own].launched = u64::MAX;
                }
                let (class, needed) = match blocks {
                    true => (Some("blocking_copy"), Needed::Begin(own)),
                    false => (None, Needed::Nothing),
                };
                self.call(place, (launch, class, 1), needed, None);
            }
            HostStep::Collective(stream, ticks) => {
                let collective = Some(self.n_collectives[process]);
                self.n_collectives[process] += 1;
                let name = "ncclDevKernel_AllReduce";
                self.launch(place, 1, &Operation { stream, name, ticks, collective, ..kernel });
                self.call(place, ("cudaLaunchKernel", None, 1), Needed::Nothing, None);
            }
            _ => {}
        }
    }
}

/// Events of different processes are different.
fn event_id(process: usize, event: u64) -> u64 {
    (process as u64) << 32 | event
}
