// SPDX-License-Identifier: Apache-2.0

package spec

// ExtensionTasks is the identifier of the tasks extension (SEP-2663).
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// ResultTask is the resultType that the tasks extension adds.
const ResultTask = "task"

// Names of the tasks extension's methods that the core never had.
const (
	ExtensionTasksUpdate        = "tasks/update"
	ExtensionNotificationsTasks = "notifications/tasks"
)

// ExtensionMethod is a method that an official extension adds. Its shape is not
// described here, and Validate judges no more than its envelope.
type ExtensionMethod struct {
	Extension string
	Name      string
	Kind      MethodKind
	Direction Direction
	Range     Range
	NameFrom  string // as in Method
}

// extensionTable matters because two of the names belonged to the core once,
// with other messages.
var extensionTable = []ExtensionMethod{
	{ExtensionTasks, MethodTasksGet, Request, ClientToServer, modernOnly, "taskId"},
	{ExtensionTasks, ExtensionTasksUpdate, Request, ClientToServer, modernOnly, "taskId"},
	{ExtensionTasks, MethodTasksCancel, Request, ClientToServer, modernOnly, "taskId"},
	{ExtensionTasks, ExtensionNotificationsTasks, Notification, ServerToClient, modernOnly, ""},
}

// ExtensionMethodAt returns the facts of an official extension's method in one
// revision.
func ExtensionMethodAt(name string, r Revision) (m ExtensionMethod, ok bool) {
	for _, row := range extensionTable {
		if row.Name == name && row.Range.Contains(r) {
			return row, true
		}
	}
	return ExtensionMethod{}, false
}
