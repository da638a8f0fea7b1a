import Delivery
import Notifications

/// Ends the trust in a device: its connection, its registrations, and every certificate it has.
struct DeviceRevocation: Sendable {
    let accounts: any Accounts
    let registrations: any Registrations
    let switchboard: any Switchboard

    /// Harmless where it was revoked before.
    func revoke(_ device: DeviceKey, at moment: Timestamp) async throws(StoreError) {
        // First of all, so that it neither connects nor registers again meanwhile.
        _ = try await accounts.apply(.revokeDevice(device, at: moment))
        switchboard.disconnect(device, because: .revoked)
        for app in try await registrations.registrations(of: device).keys {
            let destination = Destination(environment: device.environment, device: device.device, app: app)
            _ = try await registrations.end(destination, at: moment)
        }
    }
}
