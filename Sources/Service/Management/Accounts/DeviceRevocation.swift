import Delivery
import Notifications
import Storage

/// Revokes a device: ends its connection and its registrations, and invalidates its certificates.
struct DeviceRevocation: Sendable {
    let accounts: any Accounts
    let registrations: any Registrations
    let switchboard: any Switchboard

    /// Revokes the device. Revoking it again is harmless.
    /// - Parameters:
    ///   - moment: the present time of the machine's clock, which certificates use.
    ///   - serviceTime: the present time of the service's clock, which registrations use.
    /// - Returns: how many registrations ended.
    func revoke(_ device: DeviceKey, at moment: Timestamp, serviceTime: Timestamp) async throws(StoreError) -> Int {
        // Do this first: from then on the device can neither connect nor register.
        _ = try await accounts.apply(.revokeDevice(device, at: moment))
        switchboard.disconnect(device, because: .revoked)
        let active = try await registrations.registrations(of: device).filter(\.value.isActive)
        for app in active.keys {
            let destination = device.destination(of: app)
            _ = try await registrations.end(destination, at: serviceTime)
        }
        return active.count
    }
}
