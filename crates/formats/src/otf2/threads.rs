//! Records of threads, tasks and locks as events of the model, and back.
//!
//! The deprecated records of OpenMP say the same as those of all programming models; they come back as the latter, but
//! for tasks, which they number without a team.

use super::refs::LocationRefs;
use ouzel_model::{LockUse, Paradigm, TaskId, ThreadLife, ThreadStep};
use ouzel_otf2::records::event::{
    OmpTaskComplete, OmpTaskCreate, OmpTaskSwitch, ThreadAcquireLock, ThreadBegin, ThreadCreate, ThreadEnd,
    ThreadFork, ThreadJoin, ThreadReleaseLock, ThreadTaskComplete, ThreadTaskCreate, ThreadTaskSwitch,
    ThreadTeamBegin, ThreadTeamEnd, ThreadWait,
};
use ouzel_otf2::records::{Event, enums};
use ouzel_otf2::wire::UNDEFINED_U32;

/// The step that a record means; `None` for records of other kinds.
pub(super) fn step(event: &Event<'_>, refs: &mut LocationRefs<'_>) -> Option<ThreadStep> {
    let lock = |paradigm, lock, order| LockUse { paradigm, lock, order };
    let paradigm = |code: enums::Paradigm| Paradigm::from_code(code.to_u8());
    let openmp = Paradigm::OpenMp;
    Some(match *event {
        Event::ThreadFork(it) => {
            ThreadStep::Fork { paradigm: paradigm(it.model), n_requested: it.number_of_requested_threads }
        }
        Event::OmpFork(it) => {
            ThreadStep::Fork { paradigm: openmp, n_requested: it.number_of_requested_threads }
        }
        Event::ThreadJoin(it) => ThreadStep::Join { paradigm: paradigm(it.model) },
        Event::OmpJoin(_) => ThreadStep::Join { paradigm: openmp },
        Event::ThreadTeamBegin(it) => ThreadStep::TeamBegin(refs.comm(it.thread_team)),
        Event::ThreadTeamEnd(it) => ThreadStep::TeamEnd(refs.comm(it.thread_team)),
        Event::ThreadAcquireLock(it) => {
            ThreadStep::LockAcquire(lock(paradigm(it.model), it.lock_id, it.acquisition_order))
        }
        Event::ThreadReleaseLock(it) => {
            ThreadStep::LockRelease(lock(paradigm(it.model), it.lock_id, it.acquisition_order))
        }
        Event::OmpAcquireLock(it) => ThreadStep::LockAcquire(lock(openmp, it.lock_id, it.acquisition_order)),
        Event::OmpReleaseLock(it) => ThreadStep::LockRelease(lock(openmp, it.lock_id, it.acquisition_order)),
        _ => return task_step(event, refs).or_else(|| life_step(event, refs)),
    })
}

fn task_step(event: &Event<'_>, refs: &mut LocationRefs<'_>) -> Option<ThreadStep> {
    let mut task = |team, creator, number| TaskId { team: Some(refs.comm(team)), creator, number };
    Some(match *event {
        Event::ThreadTaskCreate(it) => {
            ThreadStep::TaskCreate(task(it.thread_team, it.creating_thread, it.generation_number))
        }
        Event::ThreadTaskSwitch(it) => {
            ThreadStep::TaskSwitch(task(it.thread_team, it.creating_thread, it.generation_number))
        }
        Event::ThreadTaskComplete(it) => {
            ThreadStep::TaskComplete(task(it.thread_team, it.creating_thread, it.generation_number))
        }
        Event::OmpTaskCreate(it) => ThreadStep::TaskCreate(TaskId::without_team(it.task_id)),
        Event::OmpTaskSwitch(it) => ThreadStep::TaskSwitch(TaskId::without_team(it.task_id)),
        Event::OmpTaskComplete(it) => ThreadStep::TaskComplete(TaskId::without_team(it.task_id)),
        _ => return None,
    })
}

fn life_step(event: &Event<'_>, refs: &mut LocationRefs<'_>) -> Option<ThreadStep> {
    // Some tracers do not say which threads a process may create.
    let mut life = |contingent: u32, sequence| {
        let contingent = (contingent != UNDEFINED_U32).then(|| refs.comm(contingent));
        ThreadLife { contingent, sequence }
    };
    Some(match *event {
        Event::ThreadCreate(it) => ThreadStep::ThreadCreate(life(it.thread_contingent, it.sequence_count)),
        Event::ThreadBegin(it) => ThreadStep::ThreadBegin(life(it.thread_contingent, it.sequence_count)),
        Event::ThreadWait(it) => ThreadStep::ThreadWait(life(it.thread_contingent, it.sequence_count)),
        Event::ThreadEnd(it) => ThreadStep::ThreadEnd(life(it.thread_contingent, it.sequence_count)),
        _ => return None,
    })
}

/// The record of a step; `comm` gives the references of communicators.
pub(super) fn record(step: ThreadStep, mut comm: impl FnMut(u32) -> u32) -> Event<'static> {
    let model = |paradigm: Paradigm| enums::Paradigm::from_u8(paradigm.code());
    match step {
        ThreadStep::Fork { paradigm, n_requested } => {
            ThreadFork { model: model(paradigm), number_of_requested_threads: n_requested }.into()
        }
        ThreadStep::Join { paradigm } => ThreadJoin { model: model(paradigm) }.into(),
        ThreadStep::TeamBegin(team) => ThreadTeamBegin { thread_team: comm(team.0) }.into(),
        ThreadStep::TeamEnd(team) => ThreadTeamEnd { thread_team: comm(team.0) }.into(),
        ThreadStep::LockAcquire(LockUse { paradigm, lock, order }) => {
            ThreadAcquireLock { model: model(paradigm), lock_id: lock, acquisition_order: order }.into()
        }
        ThreadStep::LockRelease(LockUse { paradigm, lock, order }) => {
            ThreadReleaseLock { model: model(paradigm), lock_id: lock, acquisition_order: order }.into()
        }
        ThreadStep::TaskCreate(task) | ThreadStep::TaskSwitch(task) | ThreadStep::TaskComplete(task) => {
            task_record(step, task, comm)
        }
        ThreadStep::ThreadCreate(life)
        | ThreadStep::ThreadBegin(life)
        | ThreadStep::ThreadWait(life)
        | ThreadStep::ThreadEnd(life) => life_record(step, life, comm),
    }
}

fn life_record(step: ThreadStep, life: ThreadLife, mut comm: impl FnMut(u32) -> u32) -> Event<'static> {
    let thread_contingent = life.contingent.map_or(UNDEFINED_U32, |contingent| comm(contingent.0));
    let sequence_count = life.sequence;
    match step {
        ThreadStep::ThreadCreate(_) => ThreadCreate { thread_contingent, sequence_count }.into(),
        ThreadStep::ThreadBegin(_) => ThreadBegin { thread_contingent, sequence_count }.into(),
        ThreadStep::ThreadWait(_) => ThreadWait { thread_contingent, sequence_count }.into(),
        _ => ThreadEnd { thread_contingent, sequence_count }.into(),
    }
}

fn task_record(step: ThreadStep, task: TaskId, mut comm: impl FnMut(u32) -> u32) -> Event<'static> {
    let TaskId { team, creator: creating_thread, number: generation_number } = task;
    let task_id = task.number_without_team();
    let thread_team = team.map(|team| comm(team.0));
    match (step, thread_team) {
        (ThreadStep::TaskCreate(_), None) => OmpTaskCreate { task_id }.into(),
        (ThreadStep::TaskSwitch(_), None) => OmpTaskSwitch { task_id }.into(),
        (_, None) => OmpTaskComplete { task_id }.into(),
        (ThreadStep::TaskCreate(_), Some(thread_team)) => {
            ThreadTaskCreate { thread_team, creating_thread, generation_number }.into()
        }
        (ThreadStep::TaskSwitch(_), Some(thread_team)) => {
            ThreadTaskSwitch { thread_team, creating_thread, generation_number }.into()
        }
        (_, Some(thread_team)) => {
            ThreadTaskComplete { thread_team, creating_thread, generation_number }.into()
        }
    }
}
