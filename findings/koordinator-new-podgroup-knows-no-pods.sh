#!/usr/bin/env bash
# Koordinator 1.8.0, a PodGroup that is deleted and created again while its gang waits.
# One would expect: the PodGroup of the same name has the pods that carry its label, and the gang is bound once there is room.
# Seen: it knows none of them until each pod changes. With room for all the gang stays pending; after a label of each pod has changed it
# is bound.
. "$(dirname "$0")/common.sh"
koordinator
for i in 1 2; do node "n$i" 8; done
koordinator_podgroup gang 3
for i in 1 2 3; do koordinator_pod "gang-$i" gang 8; done
sleep 5
delete "$koordinator_podgroups/gang"
sleep 1
koordinator_podgroup gang 3
sleep 1
node n3 8
for_all_of 40 "three nodes for three pods: nothing is bound" are_bound ""
for i in 1 2 3; do patched "$pods/gang-$i" <<<'{"metadata": {"labels": {"seen": "again"}}}'; done
within 60 "after a label of each pod has changed all are bound" are_bound gang-1 gang-2 gang-3
