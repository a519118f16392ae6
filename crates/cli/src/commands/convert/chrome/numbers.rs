//! Which message an end belongs to: its number on its channel, counted over the whole location even if only a part is
//! written, so that the arrows of a part connect the same calls as those of the whole.

use super::events::{ChromeEvents, Numbered};
use ouzel::engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Scope, Selected};
use ouzel::model::{EventChunk, MessageEnd, Needs, Remap, WorldRank};

/// Numbers the ends of messages for the writer, which must come after it in the set.
#[derive(Debug)]
pub struct MessageNumbers(pub ChromeEvents);

impl Analysis for MessageNumbers {
    type Local = (Option<WorldRank>, Selected);
    type Partial = ();
    type Output = ();

    const NAME: &'static str = "chrome-numbers";
    const PARTIAL_VERSION: u32 = 1;
    const SCOPE: Scope = Scope::Locations;

    fn needs(&self) -> Needs {
        Needs::MESSAGES
    }

    fn empty(&self) {}

    fn begin(&self, cx: &LocationCx<'_>) -> Self::Local {
        (cx.definitions.location(cx.location).rank, cx.selected)
    }

    fn fold(&self, &mut (rank, selected): &mut Self::Local, chunk: &EventChunk<'_>) {
        let is_written = |end: &MessageEnd| selected.has(chunk.time[end.row as usize]);
        for (ends, side) in [(chunk.sends, Numbered::Send), (chunk.recvs, Numbered::Receive)] {
            ends.iter().for_each(|end| self.0.number(rank, end, side, is_written(end)));
        }
    }

    fn end(&self, _: Self::Local, _: &LocationCx<'_>, _: &LocationSummary, _: &mut ()) {}

    fn remap(&self, _: &mut (), _: &Remap) {}

    fn merge(&self, _: &mut (), _: ()) {}

    fn finish(&self, _: (), _: &FinishCx<'_>) -> Result<(), AnalysisError> {
        Ok(())
    }
}
