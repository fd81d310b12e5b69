//! Decides whether all pods fit at the same time, by bounds, simulated schedulers and an exact search. A
//! scheduler moves no placed pod, so it may miss a placement that only the exact search finds.

use conformance_facts::quantity::Amount;

use super::search::search;

/// A simulation ends without a result after it has examined this many nodes.
const EXAMINED: usize = 3_000_000;

/// A host port. `address` is `None` for all addresses of the node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Port {
    pub(super) address: Option<String>,
    pub(super) protocol: String,
    pub(super) port: u64,
}

impl Port {
    fn conflicts(&self, other: &Self) -> bool {
        let is_shared = self.address.is_none() || other.address.is_none() || self.address == other.address;
        is_shared && self.protocol == other.protocol && self.port == other.port
    }
}

#[derive(Debug, Clone)]
pub(super) struct Kind {
    /// By resource.
    pub(super) demand: Vec<Amount>,
    pub(super) ports: Vec<Port>,
    /// By node.
    pub(super) allowed: Vec<bool>,
}

/// Pods that must be in one domain of `level`, if a level is set.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    pub(super) level: Option<usize>,
    /// Pairs of a kind and its number of pods.
    pub(super) pods: Vec<(usize, usize)>,
    pub(super) groups: Vec<Group>,
}

#[derive(Debug)]
pub(super) struct Problem {
    /// By node and resource.
    pub(super) capacity: Vec<Vec<Amount>>,
    pub(super) kinds: Vec<Kind>,
    /// The domain of each node, by level, widest level first.
    pub(super) levels: Vec<Vec<Option<usize>>>,
}

pub(super) type Placement = Vec<u32>;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Fits(Placement),
    /// The pods fit only if they are placed in a particular way.
    Sometimes(Placement),
    Never,
    Unknown,
}

enum Simulated {
    Placed(Placement),
    Stranded,
    OutOfBudget,
}

#[derive(Debug, Clone, Copy)]
struct Policy {
    largest_first: bool,
    spreads: bool,
}

const POLICIES: [Policy; 4] = [
    Policy { largest_first: true, spreads: true },
    Policy { largest_first: true, spreads: false },
    Policy { largest_first: false, spreads: true },
    Policy { largest_first: false, spreads: false },
];

impl Group {
    /// Includes the pods of nested groups.
    pub(super) fn all_pods(&self) -> Vec<usize> {
        let own = self.pods.iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count));
        own.chain(self.groups.iter().flat_map(Self::all_pods)).collect()
    }
}

/// A group in which every nested group has a level: pods of others belong to the group itself.
#[derive(Debug)]
pub(super) struct Flat {
    pub(super) pods: Vec<usize>,
    pub(super) groups: Vec<(usize, Flat)>,
}

impl Flat {
    pub(super) fn of(group: &Group) -> Self {
        let own = group.pods.iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count));
        let mut flat = Self { pods: own.collect(), groups: Vec::new() };
        for inner in &group.groups {
            let found = Self::of(inner);
            match inner.level {
                Some(level) => flat.groups.push((level, found)),
                None => {
                    flat.pods.extend(found.pods);
                    flat.groups.extend(found.groups);
                }
            }
        }
        flat
    }

    pub(super) fn sorted(mut self, problem: &Problem) -> Self {
        self.groups = self.groups.into_iter().map(|(level, group)| (level, group.sorted(problem))).collect();
        self.groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.size(problem)));
        self.pods.sort_by_key(|kind| (std::cmp::Reverse(problem.size(*kind)), *kind));
        self
    }

    fn size(&self, problem: &Problem) -> Amount {
        let pods = self.pods.iter().map(|kind| problem.size(*kind));
        pods.sum::<Amount>() + self.groups.iter().map(|(_, group)| group.size(problem)).sum::<Amount>()
    }
}

impl Problem {
    /// The largest share of any resource that a pod of this kind requests, in millionths of the average node.
    fn size(&self, kind: usize) -> Amount {
        let share = |(resource, demand): (usize, &Amount)| {
            let total: Amount = self.capacity.iter().map(|node| node[resource]).sum();
            let nodes = Amount::try_from(self.capacity.len()).unwrap_or(1);
            if total == 0 { 0 } else { demand.saturating_mul(1_000_000).saturating_mul(nodes) / total }
        };
        self.kinds[kind].demand.iter().enumerate().map(share).max().unwrap_or(0)
    }

    pub(super) fn pack(&self, groups: &[Group]) -> Packing {
        let all = Group { groups: groups.to_vec(), ..Group::default() };
        if self.exceeds_a_bound(&all.all_pods()) {
            return Packing::Never;
        }
        let flat = Flat::of(&all).sorted(self);
        let simulated = POLICIES.map(|policy| self.simulated(&flat, policy));
        let is_always = simulated.iter().all(|simulated| matches!(simulated, Simulated::Placed(_)));
        let is_complete = !simulated.iter().any(|simulated| matches!(simulated, Simulated::OutOfBudget));
        let placement = simulated.into_iter().find_map(|simulated| match simulated {
            Simulated::Placed(placement) => Some(placement),
            Simulated::Stranded | Simulated::OutOfBudget => None,
        });
        match placement {
            Some(placement) if is_always => Packing::Fits(placement),
            Some(placement) => Packing::Sometimes(placement),
            None if is_complete => search(self, &flat),
            None => Packing::Unknown,
        }
    }

    /// Whether the pods request more than all nodes have, or a kind has more pods than fit on empty nodes.
    fn exceeds_a_bound(&self, pods: &[usize]) -> bool {
        let mut counts = vec![0_u64; self.kinds.len()];
        for kind in pods {
            counts[*kind] += 1;
        }
        let resources = self.capacity.first().map_or(0, Vec::len);
        let exceeds_total = (0..resources).any(|resource| {
            let demand = |(kind, count): (usize, &u64)| {
                self.kinds[kind].demand[resource].saturating_mul(Amount::from(*count))
            };
            let requested: Amount = counts.iter().enumerate().map(demand).sum();
            requested > self.capacity.iter().map(|node| node[resource]).sum::<Amount>()
        });
        let exceeds_count = |(kind, count): (usize, &u64)| {
            let all = (0..self.capacity.len()).map(|node| self.most(kind, node));
            Amount::from(*count) > all.fold(0, Amount::saturating_add)
        };
        exceeds_total || counts.iter().enumerate().any(exceeds_count)
    }

    pub(super) fn most(&self, kind: usize, node: usize) -> Amount {
        let of = &self.kinds[kind];
        if !of.allowed[node] {
            return 0;
        }
        let by_ports = if of.ports.is_empty() { Amount::MAX } else { 1 };
        let capacity = of.demand.iter().zip(&self.capacity[node]).filter(|(demand, _)| **demand > 0);
        capacity.map(|(demand, has)| has / demand).min().unwrap_or(Amount::MAX).min(by_ports)
    }

    fn simulated(&self, flat: &Flat, policy: Policy) -> Simulated {
        let mut state = State::new(self);
        let everywhere = vec![true; self.capacity.len()];
        match self.simulate(flat, policy, &everywhere, &mut state) {
            true => Simulated::Placed(state.placed),
            false if state.left < self.capacity.len() => Simulated::OutOfBudget,
            false => Simulated::Stranded,
        }
    }

    fn simulate(&self, flat: &Flat, policy: Policy, nodes: &[bool], state: &mut State<'_>) -> bool {
        if policy.largest_first && !self.simulate_groups(flat, policy, nodes, state) {
            return false;
        }
        let are_pods_placed = self.simulate_pods(flat, policy, nodes, state);
        are_pods_placed && (policy.largest_first || self.simulate_groups(flat, policy, nodes, state))
    }

    fn simulate_pods(&self, flat: &Flat, policy: Policy, nodes: &[bool], state: &mut State<'_>) -> bool {
        let mut pods = flat.pods.clone();
        if !policy.largest_first {
            pods.reverse();
        }
        pods.into_iter().all(|kind| {
            let Some(left) = state.left.checked_sub(nodes.len()) else { return false };
            state.left = left;
            let with_room = (0..nodes.len()).filter(|node| nodes[*node] && state.has_room(kind, *node));
            let chosen = match policy.spreads {
                true => with_room.min_by_key(|node| state.used(*node)),
                false => with_room.max_by_key(|node| state.used(*node)),
            };
            chosen.inspect(|node| state.place(kind, *node)).is_some()
        })
    }

    fn simulate_groups(&self, flat: &Flat, policy: Policy, nodes: &[bool], state: &mut State<'_>) -> bool {
        let mut groups: Vec<_> = flat.groups.iter().collect();
        if !policy.largest_first {
            groups.reverse();
        }
        groups.into_iter().all(|(level, group)| {
            let mut domains = self.domains(*level, nodes);
            let load = |domain: &Vec<bool>| {
                let inside = domain.iter().zip(&state.placed).filter(|(is_inside, _)| **is_inside);
                inside.map(|(_, pods)| u64::from(*pods)).sum::<u64>()
            };
            domains.sort_by_cached_key(load);
            if !policy.spreads {
                domains.reverse();
            }
            domains.into_iter().any(|domain| {
                let before = state.log.len();
                let is_placed = self.simulate(group, policy, &domain, state);
                if !is_placed {
                    state.undo(before);
                }
                is_placed
            })
        })
    }

    /// Returns the domains of a level, each as a mask of its nodes among `nodes`.
    pub(super) fn domains(&self, level: usize, nodes: &[bool]) -> Vec<Vec<bool>> {
        let of = &self.levels[level];
        let inside = of.iter().zip(nodes).filter(|(_, is_inside)| **is_inside);
        let known: std::collections::BTreeSet<usize> = inside.filter_map(|(domain, _)| *domain).collect();
        let nodes_of = |domain: usize| {
            of.iter().zip(nodes).map(|(found, is_inside)| *is_inside && *found == Some(domain)).collect()
        };
        known.into_iter().map(nodes_of).collect()
    }
}

#[derive(Debug)]
pub(super) struct State<'a> {
    pub(super) problem: &'a Problem,
    pub(super) free: Vec<Vec<Amount>>,
    pub(super) ports: Vec<Vec<Port>>,
    pub(super) placed: Placement,
    pub(super) log: Vec<(usize, usize)>,
    pub(super) left: usize,
}

impl<'a> State<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        let nodes = problem.capacity.len();
        Self {
            problem,
            free: problem.capacity.clone(),
            ports: vec![Vec::new(); nodes],
            placed: vec![0; nodes],
            log: Vec::new(),
            left: EXAMINED,
        }
    }

    pub(super) fn has_room(&self, kind: usize, node: usize) -> bool {
        let of = &self.problem.kinds[kind];
        of.allowed[node]
            && of.demand.iter().zip(&self.free[node]).all(|(demand, free)| *demand == 0 || demand <= free)
            && !of.ports.iter().any(|port| self.ports[node].iter().any(|taken| taken.conflicts(port)))
    }

    pub(super) fn place(&mut self, kind: usize, node: usize) {
        let of = &self.problem.kinds[kind];
        for (free, demand) in self.free[node].iter_mut().zip(&of.demand) {
            *free -= demand;
        }
        self.ports[node].extend(of.ports.iter().cloned());
        self.placed[node] += 1;
        self.log.push((kind, node));
    }

    pub(super) fn undo(&mut self, left: usize) {
        for (kind, node) in self.log.drain(left..).rev() {
            let of = &self.problem.kinds[kind];
            for (free, demand) in self.free[node].iter_mut().zip(&of.demand) {
                *free += demand;
            }
            let ports = self.ports[node].len() - of.ports.len();
            self.ports[node].truncate(ports);
            self.placed[node] -= 1;
        }
    }

    /// The share of the node's most used resource, in millionths.
    fn used(&self, node: usize) -> Amount {
        let shares = self.problem.capacity[node].iter().zip(&self.free[node]);
        let shares = shares.filter(|(has, _)| **has > 0);
        shares.map(|(has, free)| (has - free).saturating_mul(1_000_000) / has).max().unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "packing_tests.rs"]
mod tests;
