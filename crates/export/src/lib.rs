//! Result tables as JSON, CSV and Parquet.
