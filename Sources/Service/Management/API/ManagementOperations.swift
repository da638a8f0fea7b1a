package import HTTPAPI

/// One request of the API.
package typealias ManagementOperation = APIOperation<ManagementAPI>
/// A request that has passed the checks of its operation.
package typealias ManagementCall = Call<ManagementSender>

/// The table of operations. docs/administration.md has the same list, and a test compares them.
enum ManagementOperations {
    static let all: [ManagementOperation] =
        system + service + teams + apps + upstreams + webPush + keys + certificates + devices + invitations
        + virtualDevices
        + administrators + grants + grantHandles + grantInvitations + channels + broadcasts + fixtures + journal
        + release + log
        + reasons + rehearsals + clock
        + reports
        + nodes + console
}

package enum ManagementAccess: OperationAccess {
    /// Every client must send the key.
    case key
    /// Clients need no key if the listener's address is a loopback address.
    case loopback
    /// The same, and if the store is in memory, no client needs the key.
    case loopbackOrMemory
    /// No client needs the key.
    case everybody

    package static let usual = ManagementAccess.key
    package static let unknownPath = ManagementAccess.key
    package var needsKey: Bool { self == .key }
}
