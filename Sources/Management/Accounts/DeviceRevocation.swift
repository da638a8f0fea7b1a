import Delivery
import Notifications

/// Ends the trust in a device: its connection, its registrations, and every certificate it has.
struct DeviceRevocation: Sendable {
    let accounts: any Accounts
    let registrations: any Registrations
    let switchboard: any Switchboard

    /// Harmless where it was revoked before.
    /// - Parameters:
    ///   - moment: by the machine's clock, as certificates count.
    ///   - serviceTime: by the service's clock, as registrations count.
    /// - Returns: How many registrations it ended.
    func revoke(_ device: DeviceKey, at moment: Timestamp, serviceTime: Timestamp) async throws(StoreError) -> Int {
        // First of all: from then on it neither connects nor registers.
        _ = try await accounts.apply(.revokeDevice(device, at: moment))
        switchboard.disconnect(device, because: .revoked)
        let active = try await registrations.registrations(of: device).filter(\.value.isActive)
        for app in active.keys {
            let destination = Destination(environment: device.environment, device: device.device, app: app)
            _ = try await registrations.end(destination, at: serviceTime)
        }
        return active.count
    }
}
