//! Explanations compared with all subsets of attributes.

use super::*;
use ouzel_testkit::Rng;
use std::collections::BTreeMap;

/// The smallest sets that distinguish all that can be, with the count of each, by trying everything.
fn by_force(table: &DecisionTable) -> (u64, BTreeMap<u64, u64>) {
    let n = table.columns.len();
    let mut cells: Vec<u64> = Vec::new();
    let mut n_inconsistent = 0;
    for i in 0..table.n_rows() {
        for j in i + 1..table.n_rows() {
            match table.cell(i, j) {
                Some(cell) if cell.is_empty() => n_inconsistent += 1,
                Some(cell) => cells.push(cell.0),
                None => {}
            }
        }
    }
    cells.sort_unstable();
    cells.dedup();
    let singles = cells.iter().filter(|c| c.count_ones() == 1).fold(0, |set, c| set | c);
    cells.retain(|c| c.count_ones() == 1 || c & singles == 0);
    if cells.is_empty() {
        return (n_inconsistent, BTreeMap::new());
    }
    let hits = |set: u64| cells.iter().all(|cell| cell & set != 0);
    let least = (0..1_u64 << n).filter(|&set| hits(set)).map(u64::count_ones).min().unwrap();
    // Everything multiplied out, as sets with their numbers.
    let mut products: BTreeMap<u64, u64> = BTreeMap::from([(0, 1)]);
    for cell in &cells {
        let mut next = BTreeMap::new();
        for (set, times) in products {
            for attribute in AttributeSet(*cell).iter() {
                *next.entry(set | 1 << attribute).or_insert(0) += times;
            }
        }
        products = next;
    }
    products.retain(|set, _| set.count_ones() == least);
    (n_inconsistent, products)
}

fn random_table(rng: &mut Rng) -> DecisionTable {
    let n_rows = 1 + rng.below(12) as usize;
    let n_attributes = rng.below(7) as usize;
    let n_values = 1 + rng.below(3);
    let n_decisions = 1 + rng.below(4);
    let mut column = |n: u64| (0..n_rows).map(|_| rng.below(n) as u32).collect::<Vec<u32>>();
    let columns = (0..n_attributes).map(|_| column(n_values + 1)).collect();
    DecisionTable { columns, decisions: column(n_decisions) }
}

fn explained(table: &DecisionTable) -> (u64, BTreeMap<u64, u64>) {
    let discernment = table.discernment();
    let core = Core::new(&discernment);
    assert!(!core.is_truncated);
    let found = core.explanations.iter().map(|e| (e.attributes.0, e.multiplicity.value() as u64)).collect();
    (discernment.n_inconsistent, found)
}

#[test]
fn explanations_are_the_least_of_all_subsets() {
    let mut rng = Rng::new(11);
    for _ in 0..5000 {
        let table = random_table(&mut rng);
        assert_eq!(explained(&table), by_force(&table), "{table:?}");
    }
}

#[test]
fn the_order_of_rows_does_not_show() {
    let mut rng = Rng::new(12);
    for _ in 0..500 {
        let table = random_table(&mut rng);
        let mut order: Vec<usize> = (0..table.n_rows()).collect();
        rng.shuffle(&mut order);
        let pick = |column: &Vec<u32>| order.iter().map(|&row| column[row]).collect::<Vec<u32>>();
        let other = DecisionTable {
            columns: table.columns.iter().map(pick).collect(),
            decisions: pick(&table.decisions),
        };
        assert_eq!(Core::new(&table.discernment()), Core::new(&other.discernment()));
    }
}

#[test]
fn the_order_of_attributes_changes_their_places_alone() {
    let mut rng = Rng::new(13);
    for _ in 0..500 {
        let table = random_table(&mut rng);
        let n = table.columns.len();
        let mut order: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut order);
        let columns = order.iter().map(|&at| table.columns[at].clone()).collect();
        let other = DecisionTable { columns, decisions: table.decisions.clone() };
        let (inconsistent, found) = explained(&other);
        let back = |set: u64| AttributeSet::of(AttributeSet(set).iter().map(|at| order[at])).0;
        let found = found.into_iter().map(|(set, times)| (back(set), times)).collect();
        assert_eq!((inconsistent, found), explained(&table));
    }
}

#[test]
fn many_attributes_stay_exact() {
    // Twenty pairs of decisions, each distinguished by two attributes that no other pair has: 2^10 smallest sets of 10.
    let clauses = (0..10).map(|i| AttributeSet(0b11 << (2 * i))).collect();
    let discernment = Discernment { clauses, ..Discernment::default() };
    let core = Core::new(&discernment);
    assert!(core.is_truncated && core.explanations.len() == 1000, "more than are kept");
    let clauses = (0..9).map(|i| AttributeSet(0b11 << (2 * i))).collect();
    let core = Core::new(&Discernment { clauses, ..Discernment::default() });
    assert!(!core.is_truncated);
    assert_eq!(core.explanations.len(), 512);
    assert_eq!(core.core(), AttributeSet::of((0..9).map(|i| 2 * i)), "the first attributes come first");
}

#[test]
fn a_search_cut_short_says_so_and_still_explains() {
    let mut rng = Rng::new(14);
    let clauses: Vec<AttributeSet> =
        (0..200).map(|_| AttributeSet::of((0..4).map(|_| rng.below(40) as usize))).collect();
    let discernment = Discernment { clauses, ..Discernment::default() };
    let core = Core::within(&discernment, 10);
    assert!(core.is_truncated);
    assert!(core.clauses.iter().all(|clause| clause.0 & core.core().0 != 0));
}

#[test]
fn huge_multiplicities_compare() {
    let two = Multiplicity::of(std::iter::repeat_n(2, 3000));
    let three = Multiplicity::of(std::iter::repeat_n(3, 2000));
    assert!(two < three && three.value().is_infinite());
    assert_eq!(Multiplicity::of([4, 3].into_iter()), Multiplicity::of([2, 6].into_iter()));
}
