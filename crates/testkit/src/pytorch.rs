//! Traces as the PyTorch profiler writes them, of any size, for tests and benchmarks.
//!
//! Steps of a training loop: operators that launch kernels on two streams, copies, an all-reduce with its metadata
//! that overlaps the kernels, launch flows. Law: equal arguments give equal bytes; kernels of a stream do not overlap.

use crate::Rng;
use std::io::{self, Write};

/// Operators of a step.
const OPERATORS: u64 = 400;
/// Operators between two copies, and between two collectives.
const COPY_EVERY: u64 = 25;
const COLLECTIVE_EVERY: u64 = 40;

const KERNELS: [&str; 4] = [
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)",
    "ampere_sgemm_128x64_tn",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>(cudnnTensorStruct, float const*, cudnnTensorStruct, float*, float const*, float const*, float, float, float*, float*, float*, float*, float, float)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4> >(at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4>)",
];
const OPS: [&str; 5] = [
    "aten::add",
    "aten::addmm",
    "aten::batch_norm",
    "aten::mean",
    "autograd::engine::evaluate_function: AddmmBackward0",
];

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PyTorchFacts {
    /// Bytes of JSON.
    pub n_bytes: u64,
    /// Event objects, metadata left out.
    pub n_events: u64,
    /// Of them calls with a length.
    pub n_calls: u64,
    /// Steps.
    pub n_steps: u64,
    /// Nanoseconds of kernels that compute.
    pub compute_ns: u64,
    /// Nanoseconds of collectives.
    pub communication_ns: u64,
}

struct Writer<W> {
    out: W,
    facts: PyTorchFacts,
    n_ranks: u32,
    /// Numbers of all ranks, as a list.
    all: String,
}

impl<W: Write> Writer<W> {
    fn text(&mut self, text: &str) -> io::Result<()> {
        self.facts.n_bytes += text.len() as u64;
        self.out.write_all(text.as_bytes())
    }

    fn event(&mut self, text: &str) -> io::Result<()> {
        self.facts.n_events += 1;
        self.facts.n_calls += u64::from(text.starts_with("    \"ph\": \"X\""));
        self.text("  {\n")?;
        self.text(text)?;
        self.text("\n  },\n")
    }
}

fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// Writes the trace of one rank of eight, of `n_bytes` at least.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_trace(out: impl Write, rank: u32, n_bytes: u64) -> io::Result<PyTorchFacts> {
    write_rank(out, rank, 8, n_bytes)
}

/// Writes the trace of one rank of `n_ranks`, of `n_bytes` at least.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_rank(out: impl Write, rank: u32, n_ranks: u32, n_bytes: u64) -> io::Result<PyTorchFacts> {
    let all: Vec<String> = (0..n_ranks).map(|rank| rank.to_string()).collect();
    let mut writer = Writer { out, facts: PyTorchFacts::default(), n_ranks, all: all.join(", ") };
    let mut rng = Rng::new(u64::from(rank) + 1);
    writer.text(&format!(
        "{{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {{\"id\": 0, \"name\": \"NVIDIA A100\"}}\n  ],\n  \
         \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {rank}, \"world_size\": {n_ranks}, \"pg_count\": 1, \"pg_config\": \
         [{{\"pg_name\": \"0\", \"pg_size\": {n_ranks}, \"ranks\": [{}]}}]}},\n  \"displayTimeUnit\": \"ms\",\n  \
         \"baseTimeNanoseconds\": 1735632360000000000,\n  \"traceEvents\": [\n",
        writer.all
    ))?;
    let mut cursor = Times { host: 4_203_669_604_595_407, streams: [0; 2], correlation: 1 };
    while writer.facts.n_bytes < n_bytes {
        step(&mut writer, &mut rng, &mut cursor)?;
    }
    writer.text(
        "  {\n    \"ph\": \"i\", \"s\": \"g\", \"name\": \"Record Window End\", \"pid\": \"\", \"tid\": \"\", \"ts\": 4203669604595.407\n  }\n  ],\n  \"traceName\": \"synthetic.json\"\n}\n",
    )?;
    writer.facts.n_events += 1;
    writer.out.flush()?;
    Ok(writer.facts)
}

/// Where the host and the streams are.
struct Times {
    host: u64,
    streams: [u64; 2],
    correlation: u64,
}

fn step<W: Write>(writer: &mut Writer<W>, rng: &mut Rng, times: &mut Times) -> io::Result<()> {
    let begin = times.host;
    let number = writer.facts.n_steps;
    for i in 0..OPERATORS {
        operator(writer, rng, times, i)?;
    }
    let length = us(times.host - begin);
    writer.event(&format!(
        "    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#{number}\", \"pid\": 1000, \"tid\": 1000,\n    \
         \"ts\": {}, \"dur\": {length},\n    \"args\": {{\n      \"External id\": {number},\"Ev Idx\": {number}\n    }}",
        us(begin)
    ))?;
    writer.facts.n_steps += 1;
    Ok(())
}

fn operator<W: Write>(writer: &mut Writer<W>, rng: &mut Rng, times: &mut Times, i: u64) -> io::Result<()> {
    let (begin, launch) = (times.host, times.host + 1_000 + rng.below(3_000));
    let launched = launch + 2_000 + rng.below(2_000);
    let end = launched + 500 + rng.below(2_000);
    times.host = end + rng.below(1_500);
    times.correlation += 1;
    let correlation = times.correlation;
    let op = OPS[rng.below(OPS.len() as u64) as usize];
    writer.event(&format!(
        "    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"{op}\", \"pid\": 1000, \"tid\": 1000,\n    \"ts\": {}, \"dur\": {},\n    \
         \"args\": {{\n      \"External id\": {correlation},\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"\", \"1\"], \"Input type\": [\"float\", \"float\", \"Scalar\"], \"Input Strides\": [[512, 1], [512, 1], []], \"Input Dims\": [[64, 512], [64, 512], []], \"Ev Idx\": {correlation}\n    }}",
        us(begin),
        us(end - begin)
    ))?;
    writer.event(&format!(
        "    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1000, \"tid\": 1000,\n    \"ts\": {}, \"dur\": {},\n    \
         \"args\": {{\n      \"External id\": {correlation}, \"cbid\": 211, \"correlation\": {correlation}\n    }}",
        us(launch),
        us(launched - launch)
    ))?;
    writer.event(&format!(
        "    \"ph\": \"s\", \"id\": {correlation}, \"pid\": 1000, \"tid\": 1000, \"ts\": {},\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"",
        us(launch)
    ))?;
    let is_collective = i % COLLECTIVE_EVERY == COLLECTIVE_EVERY - 1;
    let stream = usize::from(is_collective);
    let start = times.streams[stream].max(launched + 1_000);
    let length = if is_collective { 60_000 + rng.below(60_000) } else { 3_000 + rng.below(6_000) };
    times.streams[stream] = start + length + 200;
    let (at, dur) = (us(start), us(length));
    let tid = [7, 20][stream];
    if is_collective {
        writer.facts.communication_ns += length;
        let (n_ranks, all) = (writer.n_ranks, writer.all.clone());
        writer.event(&format!(
            "    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)\", \"pid\": 0, \"tid\": {tid},\n    \"ts\": {at}, \"dur\": {dur},\n    \
             \"args\": {{\n      \"External id\": {correlation}, \"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": {tid}, \"correlation\": {correlation},\n      \"Collective name\": \"allreduce\", \"In msg nelems\": 394241, \"Out msg nelems\": 394241, \"Group size\": {n_ranks}, \"dtype\": \"Float\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[{all}]\",\n      \"grid\": [16, 1, 1],\n      \"block\": [544, 1, 1]\n    }}"
        ))?;
    } else if i.is_multiple_of(COPY_EVERY) {
        writer.event(&format!(
            "    \"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD (Pinned -> Device)\", \"pid\": 0, \"tid\": {tid},\n    \"ts\": {at}, \"dur\": {dur},\n    \
             \"args\": {{\n      \"External id\": {correlation}, \"device\": 0, \"context\": 1,\n      \"stream\": {tid}, \"correlation\": {correlation},\n      \"bytes\": 262144, \"memory bandwidth (GB/s)\": 21.8\n    }}"
        ))?;
    } else {
        writer.facts.compute_ns += length;
        let kernel = KERNELS[rng.below(KERNELS.len() as u64) as usize];
        writer.event(&format!(
            "    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{kernel}\", \"pid\": 0, \"tid\": {tid},\n    \"ts\": {at}, \"dur\": {dur},\n    \
             \"args\": {{\n      \"External id\": {correlation}, \"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": {tid}, \"correlation\": {correlation},\n      \"registers per thread\": 32,\n      \"shared memory\": 0,\n      \"blocks per SM\": 0.592593,\n      \"warps per SM\": 2.37037,\n      \"grid\": [64, 1, 1],\n      \"block\": [128, 1, 1],\n      \"est. achieved occupancy %\": 4\n    }}"
        ))?;
    }
    writer.event(&format!(
        "    \"ph\": \"f\", \"id\": {correlation}, \"pid\": 0, \"tid\": {tid}, \"ts\": {at},\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\""
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_as_long_as_asked_and_the_same_again() {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let facts = write_trace(&mut one, 3, 1 << 20).unwrap();
        assert_eq!(write_trace(&mut other, 3, 1 << 20).unwrap(), facts);
        assert_eq!(one, other);
        assert_eq!(facts.n_bytes, one.len() as u64);
        assert!(1 << 20 <= one.len() && facts.compute_ns > 0 && facts.communication_ns > 0);
    }
}
