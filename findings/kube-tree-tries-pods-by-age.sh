#!/usr/bin/env bash
# kube-scheduler 1.37.2: a CompositePodGroup with two gangs.
# Expected: if the minimum of every gang of a tree fits, it is bound, regardless of other waiting pods.
# Observed: the scheduler tries the pods of a tree in one order, by age. A surplus pod of the older gang takes the node that the
# minimum of the younger gang needs, and no pod of the tree is bound. If the same pods are created in the other order, they are
# bound at once.
# Source: pkg/scheduler/schedule_one_podgroup.go of k8s.io/kubernetes.
. "$(dirname "$0")/common.sh"
kube_scheduler_1_37
for i in 1 2; do node "n$i" 8; done

tree older-first 2
member elder 1 older-first
member younger 1 older-first
pod elder-1 elder 8
sleep 1.1
pod elder-surplus elder 8
sleep 1.1
pod younger-1 younger 8
for_all_of 20 "two nodes, minimum 1 + 1, three pods, the surplus older than the younger's minimum: nothing is bound" are_bound ""

for name in elder-1 elder-surplus younger-1; do delete "$pods/$name?gracePeriodSeconds=0"; done
tree minimum-first 2
member one 1 minimum-first
member two 1 minimum-first
pod one-1 one 8
sleep 1.1
pod two-1 two 8
sleep 1.1
pod two-surplus two 8
within 20 "the same with the surplus pod last: the minimum is bound" are_bound one-1 two-1
