//! Which parts of a graph lead to each other. Nodes are positions; nothing here recurses.

/// Numbers the strongly connected components (Tarjan); an edge never leads to a greater number.
pub(crate) fn components(edges: &[Vec<usize>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; edges.len()];
    let mut low = vec![UNSEEN; edges.len()];
    let mut component = vec![UNSEEN; edges.len()];
    let (mut open, mut seen, mut found) = (Vec::new(), 0, 0);
    for start in 0..edges.len() {
        let mut work = if order[start] == UNSEEN { vec![(start, 0)] } else { Vec::new() };
        while let Some((node, edge)) = work.pop() {
            if edge == 0 {
                order[node] = seen;
                low[node] = seen;
                seen += 1;
                open.push(node);
            } else {
                low[node] = low[node].min(low[edges[node][edge - 1]]);
            }
            // The next target that is new; those that are open lower the mark, those that are closed do not count.
            let mut at = edge;
            while let Some(&target) = edges[node].get(at) {
                if order[target] == UNSEEN {
                    break;
                }
                if component[target] == UNSEEN {
                    low[node] = low[node].min(order[target]);
                }
                at += 1;
            }
            if let Some(&target) = edges[node].get(at) {
                work.push((node, at + 1));
                work.push((target, 0));
            } else if low[node] == order[node] {
                while let Some(member) = open.pop() {
                    component[member] = found;
                    if member == node {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_one_component_and_targets_come_first() {
        // 0 → 1 ⇄ 2 → 3, 4 → 4, 5 → 1 → 5
        let edges = [vec![1], vec![2, 5], vec![1, 3], vec![], vec![4], vec![1]];
        let found = components(&edges);
        assert_eq!((found[1], found[1]), (found[2], found[5]));
        assert!(found[3] < found[1] && found[1] < found[0]);
        assert!(found[4] != found[0] && found[4] != found[1]);
    }
}
