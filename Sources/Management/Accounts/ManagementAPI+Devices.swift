import Delivery
import Notifications
import Trust
import VirtualDevices

// Inviting and revoking devices.
extension ManagementAPI {
    func invite(_ request: ManagementMessages.NewInvitation) async throws -> ManagementMessages.Invitation {
        var random = SystemRandomNumberGenerator()
        let code = ActivationCode.random(using: &random)
        let now = now
        let invitation = Invitation(
            digest: code.digest,
            environment: try environment(request.environment),
            expires: now.advanced(by: InvitationLimits.life),
        )
        try await parts.invitations.invite(invitation, at: now)
        return ManagementMessages.Invitation(code: code.text)
    }

    /// - Parameter environment: nil revokes the device in both environments. In an emergency, nobody has to look the
    ///   environment up.
    func revokeDevice(_ name: String, in environment: String?) async throws -> ManagementMessages.RevokedDevice {
        let device = try deviceID(name)
        let environments = try environment.map { [try self.environment($0)] } ?? Environment.allCases
        let revocation = DeviceRevocation(
            accounts: accounts, registrations: parts.registrations, switchboard: parts.switchboard)
        var registrations = 0
        // A virtual device is only removed. It has no certificate, so the accounts need not revoke it.
        if environments.contains(.development), let ended = try await removeVirtualDevice(device) {
            return ManagementMessages.RevokedDevice(
                deviceID: device.description, environments: [Environment.development.rawValue], registrations: ended)
        }
        for environment in environments {
            registrations += try await revocation.revoke(
                DeviceKey(environment: environment, device: device), at: now, serviceTime: parts.clock.time)
        }
        return ManagementMessages.RevokedDevice(
            deviceID: device.description, environments: environments.map(\.rawValue), registrations: registrations)
    }
}
