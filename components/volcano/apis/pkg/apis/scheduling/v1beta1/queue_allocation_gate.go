// Package v1beta1 has one constant more than volcano.sh/apis v1.14.0: Volcano 1.15's scheduler needs it.
package v1beta1

// QueueAllocationGateKey names the annotation and the scheduling gate of a pod that waits for room in its queue.
const QueueAllocationGateKey = GroupName + "/queue-allocation-gate"
