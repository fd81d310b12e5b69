#!/usr/bin/env bash
# kube-scheduler 1.37.2, condition PodGroupInitiallyScheduled.
# One would expect: it stays True, as the API says ("once this condition transitions to True, it serves as a terminal state and will
# never revert to False", k8s.io/api v0.37.2, scheduling/v1beta1/types.go).
# Seen: with the minimum bound, it goes back to False while a further pod of the group does not fit, in some of ten rounds.
. "$(dirname "$0")/common.sh"
kube_scheduler_1_37
node n1 8

went_back() { # ROUND: whether True was followed by False, while the group's two pods are bound
    local name=round-$1 seen=
    for i in 1 2 3; do pod "$name-$i" "$name" 4; done
    podgroup "$name" 2
    for _ in {1..40}; do
        case $(condition "$podgroups/$name" PodGroupInitiallyScheduled) in
            True*) seen=True ;;
            False*) [[ $seen != True ]] || { echo "seen: round $1: $(get "$podgroups/$name" | jq -c '.status.conditions[0] | {status, reason, message}'), with $(bound | wc -w) pods bound"; return 0; } ;;
        esac
        sleep 0.1
    done
    return 1
}

back=0
for round in {1..10}; do
    ! went_back "$round" || back=$((back + 1))
    for i in 1 2 3; do delete "$pods/round-$round-$i?gracePeriodSeconds=0"; done
    sleep 1
done
echo "$back of 10 rounds"
((back > 0)) || { echo "CHANGED: it never went back"; exit 1; }
