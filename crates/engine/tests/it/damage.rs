//! Damage loses only the tail of one location, and is reported.

use crate::Log;
use ouzel_engine::LocationEnd;
use ouzel_model::{Filter, Level, LocationId, NoticeCode};
use ouzel_testkit::{Faults, RandomTrace, ToyTrace, run_report};

#[test]
fn one_location_loses_its_tail_and_the_notice_says_where() {
    let recipe = RandomTrace { seed: 3, n_locations: 5, n_events: 300, faults: Faults::None };
    let whole = run_report(&recipe.build(), &Filter::default(), Log).0;
    for n in [1, 7, 1000] {
        let trace = recipe.build().with_chunk_events(n).with_damage(LocationId(1), 100);
        let (seen, report) = run_report(&trace, &Filter::default(), Log);
        for id in [0, 2, 3, 4].map(LocationId) {
            let lines = |seen: &crate::log::Seen| {
                let mut one = seen.clone();
                one.rows.retain(|&l, _| l == id);
                one.lines()
            };
            assert_eq!(lines(&seen), lines(&whole), "location {id:?}, chunks of {n}");
            assert_eq!(report.locations[&id].end, LocationEnd::Complete);
        }
        let damaged = report.locations[&LocationId(1)];
        assert_eq!((damaged.end, damaged.n_events), (LocationEnd::Damaged, 100));
        assert_eq!((report.coverage.locations_complete, report.coverage.locations_damaged), (4, 1));

        let notice = &report.notices[0];
        assert_eq!((notice.level, notice.code), (Level::High, NoticeCode::DamagedEvents));
        assert_eq!((notice.file.as_deref(), notice.offset), (Some("toy/1.evt"), Some(900)));
        assert_eq!(notice.location, Some(LocationId(1)));
        assert_eq!(
            notice.to_string(),
            "toy/1.evt+0x384: events of location \"1.0\" cannot be read further (input ends inside a record); \
             the 100 events before that were kept"
        );
    }
}

#[test]
fn what_was_open_at_the_damage_is_closed_there() {
    let trace = ToyTrace::new("0: enter main @0, enter f @10, leave @20, enter g @30, leave @40, leave @50");
    let (seen, report) = run_report(&trace.with_damage(LocationId(0), 4), &Filter::default(), Log);
    assert_eq!(
        seen.lines(),
        [
            "enter main @0",
            "enter main/f @10",
            "leave main/f @20 incl 10 excl 10",
            "enter main/g @30",
            "leave main/g @30 incl 0 excl 0",
            "leave main @30 incl 30 excl 20",
        ]
    );
    let codes: Vec<_> = report.notices.iter().map(|n| n.code).collect();
    assert_eq!(codes, [NoticeCode::DamagedEvents, NoticeCode::OpenCalls]);
}

#[test]
fn a_location_that_cannot_be_read_at_all_is_damaged() {
    let trace = ToyTrace::new("0: enter main @0, leave @50").with_damage(LocationId(0), 0);
    let (seen, report) = run_report(&trace, &Filter::default(), Log);
    assert_eq!(seen.lines(), [""; 0]);
    assert_eq!((report.coverage.locations_damaged, report.coverage.events_read), (1, 0));
}

#[test]
fn damage_behind_the_time_range_costs_nothing() {
    let trace = ToyTrace::new("0: enter main @0, enter f @10, leave @20, enter g @30, leave @40, leave @50");
    let filter = Filter { time_ns: Some((0, 25)), ..Filter::default() };
    for n in [1, 64] {
        let trace = trace.clone().with_damage(LocationId(0), 5).with_chunk_events(n);
        let (seen, report) = run_report(&trace, &filter, Log);
        assert_eq!(seen.lines()[3], "leave main @25 incl 25 excl 15");
        assert_eq!((report.coverage.locations_damaged, report.notices), (0, vec![]), "chunks of {n}");
    }
}
