import Delivery
import HTTPAPI
import Notifications
import VirtualDevices

// Revoking devices.
extension ManagementAPI {
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
