//! Messages: which receive gets which send. Both wait in the order in which they were posted, as MPI requires.

use super::machine::Machine;
use super::program::{Incoming, Outgoing, SendMode};

/// The number of a visit of a call, in the order of entering over all ranks.
pub(super) type VisitId = usize;

/// A message, from its posting on.
pub(super) struct Message {
    pub from: usize,
    pub sent: Outgoing,
    pub is_eager: bool,
    pub post: VisitId,
    pub receive: Option<usize>,
}

/// A posted receive.
pub(super) struct Receive {
    pub by: usize,
    pub wanted: Incoming,
    pub post: VisitId,
    pub message: Option<usize>,
}

impl Receive {
    fn takes(&self, message: &Message) -> bool {
        let Incoming { from, tag, comm } = self.wanted;
        self.message.is_none()
            && message.receive.is_none()
            && (self.by, comm) == (message.sent.to, message.sent.comm)
            && from.is_none_or(|from| from == message.from)
            && tag.is_none_or(|tag| tag == message.sent.tag)
    }
}

/// All messages and receives of a run.
#[derive(Default)]
pub(super) struct Matching {
    pub messages: Vec<Message>,
    pub receives: Vec<Receive>,
}

impl Matching {
    /// Posts a send; returns the number of the message.
    pub fn send(&mut self, from: usize, sent: Outgoing, post: VisitId, machine: &Machine) -> usize {
        let is_eager = sent.mode == SendMode::Standard && sent.bytes <= machine.eager_limit;
        let mut message = Message { from, sent, is_eager, post, receive: None };
        let number = self.messages.len();
        message.receive = self.receives.iter().position(|receive| receive.takes(&message));
        if let Some(receive) = message.receive {
            self.receives[receive].message = Some(number);
        }
        self.messages.push(message);
        number
    }

    /// Posts a receive; returns its number.
    pub fn receive(&mut self, by: usize, wanted: Incoming, post: VisitId) -> usize {
        let mut receive = Receive { by, wanted, post, message: None };
        let number = self.receives.len();
        receive.message = self.messages.iter().position(|message| receive.takes(message));
        if let Some(message) = receive.message {
            self.messages[message].receive = Some(number);
        }
        self.receives.push(receive);
        number
    }
}
