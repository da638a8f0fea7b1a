import APNSDevice
package import Foundation

#if os(Linux)
    // Swift takes `struct stat` to be of this module, because its headers may be the first that include it.
    import CDispatch
#endif

/// Looks at everything that an agent needs, and says what is wrong and what to do. It changes nothing: it makes no file, activates no
/// device, and does not disturb an agent that runs.
package struct Doctor: Sendable {
    let settings: AgentSettings
    /// The agent that answers at the socket; nil if none does.
    let running: RunningAgent?
    /// The machine's clock.
    let now: Date
    /// When the machine's clock said so.
    let began = ContinuousClock.now
    let probe: CourierProbe
    /// The user that the agent runs as: the owner of its folder.
    let agentUser: UInt32

    package init(_ settings: AgentSettings, running: RunningAgent?, now: Date) {
        (self.settings, self.running, self.now) = (settings, running, now)
        probe = CourierProbe(settings.courier)
        agentUser = Self.owner(of: settings.folder) ?? UInt32(geteuid())  // fits: uid_t has 32 bits
    }

    /// - Returns: a finding for each check, in their order.
    package func examine() async -> [Finding] {
        let identity = Result { () throws(DeviceError) in try ownIdentity() }
        let service = await examineService(try? identity.get())
        return [
            state(), self.identity(identity, service), clock(service, try? identity.get()), service.name, service.port,
            service.certificate, environment(try? identity.get(), service), await socket(), manifests(), await bus(),
        ]
    }

    static func owner(of path: String) -> UInt32? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_uid : nil
    }
}

/// What an agent that runs says of itself.
package struct RunningAgent: Sendable {
    /// Its connection, as in the status: `connected` and so on.
    package let connection: String
    package let cause: String?
    /// What it says of the name of its distributor; nil if it is none.
    package let distributorName: String?

    package init(connection: String, cause: String?, distributorName: String? = nil) {
        (self.connection, self.cause, self.distributorName) = (connection, cause, distributorName)
    }
}
