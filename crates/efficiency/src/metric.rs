//! The metrics: their names, what each is a part of, and values that may be missing.

use std::borrow::Cow;

/// An efficiency, or how a cost scales: 1 is ideal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "`in_words` and `formula` say what each is")]
pub enum Metric {
    Global,
    Parallel,
    LoadBalance,
    Communication,
    Serialisation,
    Transfer,
    ComputationScaling,
    InstructionScaling,
    IpcScaling,
    FrequencyScaling,
    MpiParallel,
    MpiLoadBalance,
    MpiLoadBalanceInside,
    MpiLoadBalanceBetween,
    MpiCommunication,
    MpiSerialisation,
    MpiTransfer,
    OpenMpParallel,
    OpenMpLoadBalance,
    OpenMpCommunication,
    OpenMpSerialisation,
    OpenMpScheduling,
    Process,
    ProcessLoadBalance,
    ProcessCommunication,
    ProcessSerialisation,
    ProcessTransfer,
    Thread,
    OpenMpRegion,
    SerialRegion,
    Offload,
    DeviceParallel,
    DeviceLoadBalance,
    DeviceCommunication,
    DeviceOrchestration,
}

impl Metric {
    /// Its key in JSON, CSV and Python.
    pub fn as_str(self) -> &'static str {
        self.names().0
    }

    /// Its name for people.
    pub fn in_words(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        use Metric as M;
        match self {
            M::Global => ("global", "global efficiency"),
            M::Parallel => ("parallel", "parallel efficiency"),
            M::LoadBalance => ("load_balance", "load balance"),
            M::Communication => ("communication", "communication efficiency"),
            M::Serialisation => ("serialisation", "serialisation efficiency"),
            M::Transfer => ("transfer", "transfer efficiency"),
            M::ComputationScaling => ("computation_scaling", "computation scaling"),
            M::InstructionScaling => ("instruction_scaling", "instruction scaling"),
            M::IpcScaling => ("ipc_scaling", "IPC scaling"),
            M::FrequencyScaling => ("frequency_scaling", "frequency scaling"),
            M::MpiParallel => ("mpi_parallel", "MPI parallel efficiency"),
            M::MpiLoadBalance => ("mpi_load_balance", "MPI load balance"),
            M::MpiLoadBalanceInside => ("mpi_load_balance_in_node", "MPI load balance within nodes"),
            M::MpiLoadBalanceBetween => ("mpi_load_balance_between_nodes", "MPI load balance between nodes"),
            M::MpiCommunication => ("mpi_communication", "MPI communication efficiency"),
            M::MpiSerialisation => ("mpi_serialisation", "MPI serialisation efficiency"),
            M::MpiTransfer => ("mpi_transfer", "MPI transfer efficiency"),
            M::OpenMpParallel => ("openmp_parallel", "OpenMP parallel efficiency"),
            M::OpenMpLoadBalance => ("openmp_load_balance", "OpenMP load balance"),
            M::OpenMpCommunication => ("openmp_communication", "OpenMP communication efficiency"),
            M::OpenMpSerialisation => ("openmp_serialisation", "OpenMP serialisation efficiency"),
            M::OpenMpScheduling => ("openmp_scheduling", "OpenMP scheduling efficiency"),
            M::Process => ("process", "process efficiency"),
            M::ProcessLoadBalance => ("process_load_balance", "process load balance"),
            M::ProcessCommunication => ("process_communication", "process communication efficiency"),
            M::ProcessSerialisation => ("process_serialisation", "process serialisation efficiency"),
            M::ProcessTransfer => ("process_transfer", "process transfer efficiency"),
            M::Thread => ("thread", "thread efficiency"),
            M::OpenMpRegion => ("openmp_region", "OpenMP region efficiency"),
            M::SerialRegion => ("serial_region", "serial region efficiency"),
            M::Offload => ("offload", "offload efficiency (host)"),
            M::DeviceParallel => ("device_parallel", "device parallel efficiency"),
            M::DeviceLoadBalance => ("device_load_balance", "device load balance"),
            M::DeviceCommunication => ("device_communication", "device communication efficiency"),
            M::DeviceOrchestration => ("device_orchestration", "orchestration efficiency"),
        }
    }

    /// The metric that it explains; `None` at the top.
    pub fn part_of(self) -> Option<Metric> {
        use Metric as M;
        Some(match self {
            M::Global | M::Offload | M::DeviceParallel => return None,
            M::Parallel | M::ComputationScaling => M::Global,
            M::LoadBalance | M::Communication => M::Parallel,
            M::Serialisation | M::Transfer => M::Communication,
            M::InstructionScaling | M::IpcScaling | M::FrequencyScaling => M::ComputationScaling,
            M::MpiParallel | M::OpenMpParallel | M::Process | M::Thread => M::Parallel,
            M::MpiLoadBalance | M::MpiCommunication => M::MpiParallel,
            M::MpiLoadBalanceInside | M::MpiLoadBalanceBetween => M::MpiLoadBalance,
            M::MpiSerialisation | M::MpiTransfer => M::MpiCommunication,
            M::OpenMpLoadBalance | M::OpenMpCommunication | M::OpenMpSerialisation | M::OpenMpScheduling => {
                M::OpenMpParallel
            }
            M::ProcessLoadBalance | M::ProcessCommunication => M::Process,
            M::ProcessSerialisation | M::ProcessTransfer => M::ProcessCommunication,
            M::OpenMpRegion | M::SerialRegion => M::Thread,
            M::DeviceLoadBalance | M::DeviceCommunication | M::DeviceOrchestration => M::DeviceParallel,
        })
    }

    /// Number of metrics above it: how far tables indent it.
    pub fn depth(self) -> usize {
        std::iter::successors(self.part_of(), |metric| metric.part_of()).count()
    }
}

/// Why a value is missing, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// A reason in words, in lower case and without a full stop.
    pub fn new(words: impl Into<Cow<'static, str>>) -> Self {
        Reason(words.into())
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A metric with its value, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricValue {
    /// Which one.
    pub metric: Metric,
    /// Its value.
    pub value: Result<f64, Reason>,
}

impl MetricValue {
    /// A metric with its value.
    pub(crate) fn new(metric: Metric, value: Result<f64, Reason>) -> Self {
        MetricValue { metric, value }
    }
}
