package import Delivery

/// Which devices are connected to the other nodes of a cluster.
package struct OtherDevices: Sendable {
    /// The connected ones of the devices that were asked for.
    package var connected: [DeviceKey: ConnectedDevice]
    /// The names of the nodes that did not answer.
    package var unanswered: [String]

    /// The header field of an answer that has these names.
    package static let unansweredField = "Carillon-Unanswered"

    package init(connected: [DeviceKey: ConnectedDevice], unanswered: [String]) {
        self.connected = connected
        self.unanswered = unanswered
    }

    /// Asks the other nodes.
    /// - Parameters:
    ///   - devices: at most one more than a list has items.
    ///   - leftOut: the names of nodes that are not asked.
    package typealias Question =
        @Sendable (_ devices: [DeviceKey], _ leftOut: Set<String>) async throws -> OtherDevices
}

/// The questions to the other nodes of a cluster that one request of the API causes.
struct ClusterDevices {
    /// Nil if there are no other nodes.
    private let ask: OtherDevices.Question?
    /// The names of the nodes that did not answer.
    private(set) var unanswered: Set<String> = []

    init(_ ask: OtherDevices.Question?) { self.ask = ask }

    /// Whether other nodes may have devices.
    var hasOthers: Bool { ask != nil }

    /// Returns the connected ones among these devices. A node that has not answered is not asked again, so a request waits
    /// for each node only once.
    mutating func connected(among devices: [DeviceKey]) async throws -> [DeviceKey: ConnectedDevice] {
        guard let ask, !devices.isEmpty else { return [:] }
        let answer = try await ask(devices, unanswered)
        unanswered.formUnion(answer.unanswered)
        return answer.connected
    }
}
