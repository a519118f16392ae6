mod golden;
mod laws;
