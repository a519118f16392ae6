//! The Python package `ouzel`: converts arguments and results, and runs passes without the interpreter lock.
//!
//! ```text
//! arguments ──selection──► ouzel::Options ──pass──► ouzel::Answer ──table, arrow, value──► Python
//! ```
//!
//! Law: nothing is computed here, and no value is changed on the way. Documentation strings and types are in
//! `package/ouzel/_core.pyi`. Rust's own interface is `ouzel`.
#![deny(missing_docs)]

/// The docstring that `package/ouzel/_core.pyi` has for a name: the stub is the only source, see `build.rs`.
macro_rules! prose {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

mod accelerators;
mod arguments;
mod arrow;
mod calls;
mod causes;
mod cluster;
mod command;
mod compare;
mod convert;
mod diagnosis;
mod efficiency;
mod errors;
mod events;
mod frames;
mod info;
mod on_cluster;
mod operations;
mod output;
mod page;
mod pass;
mod paths;
mod pickle;
mod picture;
mod profile;
mod profile_report;
mod selection;
mod shapes;
mod table;
mod trace;
mod value;
mod view;
mod waits;

use pyo3::prelude::*;

/// The compiled part of the package.
#[pymodule(name = "_core")]
fn core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("OuzelError", module.py().get_type::<errors::OuzelError>())?;
    module.add("DataLostWarning", module.py().get_type::<errors::DataLostWarning>())?;
    module.add("SelectionWarning", module.py().get_type::<errors::SelectionWarning>())?;
    module.add_class::<trace::Trace>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<picture::Picture>()?;
    module.add_class::<waits::Waits>()?;
    module.add_class::<events::Events>()?;
    module.add_class::<events::EventRows>()?;
    module.add_class::<shapes::CommMatrix>()?;
    module.add_class::<shapes::Histogram>()?;
    module.add_class::<profile::Profile>()?;
    module.add_class::<profile::Correlations>()?;
    module.add_class::<compare::MultiRun>()?;
    module.add_function(wrap_pyfunction!(cluster::build, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::fingerprint, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::fold_group, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::merge_partials, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::settle_bucket, module)?)?;
    module.add_function(wrap_pyfunction!(accelerators::kernel_difference, module)?)?;
    module.add_function(wrap_pyfunction!(compare::multi_run_analysis, module)?)?;
    module.add_function(wrap_pyfunction!(compare::multirun_analysis, module)?)?;
    module.add_function(wrap_pyfunction!(efficiency::efficiencies, module)?)?;
    module.add_function(wrap_pyfunction!(output::check_output, module)?)?;
    module.add_function(wrap_pyfunction!(output::write_output, module)?)?;
    module.add_function(wrap_pyfunction!(events::events_of, module)?)?;
    module.add_function(wrap_pyfunction!(pickle::reopened, module)?)?;
    module.add_function(wrap_pyfunction!(pickle::restored, module)?)?;
    module.add_function(wrap_pyfunction!(licenses, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)?;
    module.add_function(wrap_pyfunction!(profile::open_profile, module)?)?;
    module.add_function(wrap_pyfunction!(trace::open, module)?)?;
    // The package's own list of names is in `__init__.py`.
    module.delattr("__all__")
}

#[doc = prose!("licenses")]
#[pyfunction]
fn licenses(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let entry = |of: ouzel::licenses::License| serde_json::json!({"name": of.name, "version": of.version, "license": of.license, "texts": of.texts});
    value::to_python(py, &ouzel::licenses::licenses().into_iter().map(entry).collect::<Vec<_>>())
}
