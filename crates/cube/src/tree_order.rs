//! In which order a metric counts call paths.
//!
//! Rows of an exclusive metric count them in pre-order. Rows of an inclusive one count
//! them so that the children of a node are adjacent: the root, its children, then for
//! each child in turn the same again.

/// For each number of an inclusive metric, the node in pre-order. `parents` are those of the nodes in pre-order.
pub fn wide_order(parents: &[Option<usize>]) -> Vec<u32> {
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); parents.len()];
    let mut roots = Vec::new();
    // Call paths have 32 bits: definitions with more are not read.
    for (node, parent) in (0..).zip(parents) {
        match parent {
            Some(parent) => children[*parent].push(node),
            None => roots.push(node),
        }
    }
    let mut order = Vec::with_capacity(parents.len());
    for root in roots {
        order.push(root);
        let mut pending = vec![root];
        while let Some(node) = pending.pop() {
            let below = &children[node as usize];
            order.extend_from_slice(below);
            pending.extend(below.iter().rev());
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_stand_together_before_their_own_children() {
        // 0 → (1 → (2, 3), 4 → (5 → 6)), 7
        let parents = [None, Some(0), Some(1), Some(1), Some(0), Some(4), Some(5), None];
        assert_eq!(wide_order(&parents), [0, 1, 4, 2, 3, 5, 6, 7]);
    }
}
