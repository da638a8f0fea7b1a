import Configuration
import Connections
import Journal
import Management
import Notifications

/// Where the management API listens on TCP.
package enum ManagementListening: Sendable, Hashable {
    /// At ``Settings/standardManagement``. With `--ports ephemeral`, on a port that the system chooses.
    case standard
    case at(ListenAddress)
    /// Only on the Unix socket.
    case off
}

// The store and the management API.
extension Settings {
    /// Its port is the one after the provider API's.
    static let standardManagement = ListenAddress(host: "127.0.0.1", port: 2198)

    /// The data folder: the configured one. Without one, a temporary folder if the store is in memory, and the
    /// default folder otherwise.
    package var folder: DataFolder {
        if let dataFolder { return DataFolder(dataFolder) }
        return store == .memory ? .temporary() : DataFolder(Self.defaultDataFolder)
    }

    /// Whether the service is one for tests.
    var isForTests: Bool { store == .memory || accept == .any }

    /// The number of providers' requests that the journal keeps from the start.
    var keptRequests: Int { journal ?? (isForTests ? JournalLimits.requestsForTests : 0) }

    /// The TCP address of the management API; nil if it is switched off.
    var managementAddress: ListenAddress? {
        switch management {
        case .off: nil
        case .at(let address): address
        case .standard where ports == .ephemeral: ListenAddress(host: Self.standardManagement.host, port: 0)
        case .standard: Self.standardManagement
        }
    }

    /// - Parameters:
    ///   - text: `sqlite`, `memory`, or a PostgreSQL URL.
    ///   - isArgument: whether the text is an argument of the command, which all users of the machine can read.
    package mutating func setStore(_ text: String, isArgument: Bool = false) throws(ServiceError) {
        store = try StoreChoice(text, isArgument: isArgument)
    }

    /// - Parameter name: 1 to 64 letters, digits, hyphens, underscores and periods, because the name is shown in
    ///   messages and used in commands.
    package mutating func setNodeName(_ name: String) throws(ServiceError) {
        guard name.isName(maximumBytes: 64) else {
            throw ServiceError(
                .badSetting,
                "The setting node-name takes 1 to 64 letters, digits, hyphens, underscores and periods.")
        }
        nodeName = name
    }

    /// - Parameter text: `HOST:PORT`; port 0 lets the system choose.
    package mutating func setPeer(_ text: String) throws(ServiceError) {
        guard let address = ListenAddress(text) else {
            throw ServiceError(.badSetting, "The setting peer is \(text); it takes ADDRESS:PORT.")
        }
        peer = address
    }

    /// - Parameter text: `HOST:PORT`, as other nodes connect to it.
    package mutating func setPeerAddress(_ text: String) throws(ServiceError) {
        guard let address = ListenAddress(text), address.port > 0, !address.isEveryAddress else {
            throw ServiceError(
                .badSetting,
                "The setting peer-address is \(text); it takes the ADDRESS:PORT at which other nodes connect.")
        }
        peerAddress = address
    }

    /// Settings of a node are a mistake if the service is none.
    func checkNode() throws(ServiceError) {
        let set = [("node-name", nodeName != nil), ("peer", peer != nil), ("peer-address", peerAddress != nil)]
        if !store.isShared, let setting = set.first(where: \.1)?.0 {
            throw ServiceError(
                .badSetting, "The setting \(setting) is for the nodes of a cluster: it needs a PostgreSQL store.")
        }
        if peerAddress != nil, peer == nil {
            throw ServiceError(
                .badSetting, "The setting peer-address needs the setting peer, the address on which this node listens.")
        }
        if let peer, peer.isEveryAddress, peerAddress == nil {
            throw ServiceError(
                .badSetting,
                "The setting peer is \(peer.host): add peer-address, the address at which other nodes reach this one.")
        }
    }

    /// - Parameter ranges: addresses, or ranges as in `192.0.2.0/24`.
    package mutating func setProxies(_ ranges: [String]) throws(ServiceError) {
        proxies = try Self.ranges(ranges, of: "proxy-protocol")
    }

    static func ranges(_ ranges: [String], of setting: String) throws(ServiceError) -> [AddressRange] {
        try ranges.map { text throws(ServiceError) in
            guard let range = AddressRange(text) else {
                throw ServiceError(
                    .badSetting,
                    "The setting \(setting) is \(text); it takes an address, or a range as in 192.0.2.0/24 without bits "
                        + "beyond the prefix.")
            }
            return range
        }
    }

    /// - Parameter count: how many requests of providers the journal keeps.
    package mutating func setJournal(_ count: Int) throws(ServiceError) {
        guard (0...JournalLimits.requests).contains(count) else {
            throw ServiceError(
                .badSetting,
                "The setting journal is \(count); it takes a whole number from 0 to \(JournalLimits.requests).")
        }
        journal = count
    }

    package mutating func setManagementKeyFile(_ file: String) { managementKeyFile = DataFolder(file).path }

    /// A key in a setting can be read by all who can read the settings, so it is for tests only. Programs that use the
    /// management API read the same variable.
    /// - Parameter isForCommands: whether the variable is there for the commands, which have the service's URL too.
    package mutating func checkManagementKey(isForCommands: Bool) throws(ServiceError) {
        guard let key = managementKey else { return }
        if isForCommands, store != .memory || managementKeyFile != nil { return managementKey = nil }
        guard store == .memory, managementKeyFile == nil else {
            throw ServiceError(
                .badSetting,
                "The setting management-key (CARILLON_MANAGEMENT_KEY) is for --store memory. Write the key to a file, and name "
                    + "that with --management-key-file.")
        }
        guard key.utf8.count >= ManagementKey.testBytes, ManagementKey.isVisible(key) else {
            throw ServiceError(
                .badSetting,
                "The setting management-key (CARILLON_MANAGEMENT_KEY) takes at least \(ManagementKey.testBytes) visible "
                    + "ASCII characters.")
        }
    }

    /// - Parameter text: `ADDRESS:PORT`, or `off`.
    package mutating func setManagement(_ text: String) throws(ServiceError) {
        management = text == "off" ? .off : .at(try Self.address(text, of: "management", or: ", or off"))
    }

    /// - Parameter text: `ADDRESS:PORT`.
    package mutating func setManagementTLS(_ text: String) throws(ServiceError) {
        managementTLS = try Self.address(text, of: "management-tls")
    }

    static func address(
        _ text: String,
        of setting: String,
        or alternative: String = "",
    ) throws(ServiceError) -> ListenAddress {
        guard let address = ListenAddress(text) else {
            throw ServiceError(
                .badSetting,
                "The setting \(setting) is \(text); it takes an address and a port, as in 127.0.0.1:2198\(alternative)."
            )
        }
        return address
    }

    /// Refuses the settings of earlier versions. If the service ignored them, it would listen on other ports than the
    /// operator expects.
    static func refuseReplaced(_ reader: ConfigReader) throws(ServiceError) {
        let replaced = [
            ("metrics-port", "management"), ("metrics-host", "management"),
            ("administration.listen", "management-tls"),
        ]
        for (old, new) in replaced {
            let key = ConfigKey(old)
            guard reader.string(forKey: key) != nil || reader.int(forKey: key) != nil else { continue }
            throw ServiceError(
                .badSetting, "The setting \(old) was replaced by \(new), which takes an address and a port.")
        }
    }
}
