//! Events of golden values, in the language of traces for tests.

/// The example of two processes in `golden/pipit_ops.json`, in nanoseconds.
pub(crate) const TWO_PROCESSES: &str = "
    0: enter main() @0, enter foo() @1000000000, enter MPI_Send @3000000000, leave @5000000000, enter baz() @8000000000, leave @18000000000, leave @25000000000, leave @100000000000
    1: enter main() @0, enter bar() @1000000000, enter Idle @2000000000, leave @10000000000, enter MPI_Recv @10000000000, leave @14000000000, leave @39000000000, enter Idle @39000000000, leave @57000000000, enter grault() @57000000000, leave @77000000000, leave @100000000000";

/// The operations of three processes in `golden/pipit_ops.json`. Process 1 ends last, at 80.
pub const OPERATIONS: &str = "
    0: enter main @0, enter MPI_Send @30, send>1 @31, leave @32, enter MPI_Barrier @35, collective barrier @61, leave @61, leave @61
    1: enter main @0, enter MPI_Recv @10, recv<0 @33, leave @33, enter MPI_Send @40, send>2 @40, leave @41, enter MPI_Barrier @45, collective barrier @61, leave @61, leave @80
    2: enter main @0, enter MPI_Recv @12, recv<1 @42, leave @42, enter MPI_Barrier @60, collective barrier @62, leave @62, leave @62";
