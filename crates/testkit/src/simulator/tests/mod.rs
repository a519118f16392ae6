mod by_hand;
mod golden;
mod laws;
