import Courier
import Delivery
import Notifications
import Trust

// Who may be a device, and who may not any more.
extension Administration {
    func invite(_ request: AdministrationMessages.NewInvitation) async throws -> AdministrationAnswer {
        var random = SystemRandomNumberGenerator()
        let code = ActivationCode.random(using: &random)
        let now = clock()
        let invitation = Invitation(
            digest: code.digest,
            environment: try environment(request.environment),
            expires: now.advanced(by: Activations.codeLife),
        )
        try await invitations.invite(invitation, at: now)
        return try .success(AdministrationMessages.Invitation(code: code.text))
    }

    func revokeDevice(
        _ name: String,
        _ request: AdministrationMessages.NewRevokedDevice,
    ) async throws -> AdministrationAnswer {
        guard let device = DeviceID(name) else {
            throw AdministrationError("\(name.debugDescription) is not a device ID: 16 hexadecimal digits.")
        }
        // In an emergency nobody remembers which environment a device is of.
        let environments = try request.environment.map { [try environment($0)] } ?? Environment.allCases
        var registrations = 0
        for environment in environments {
            registrations += try await devices.revoke(
                DeviceKey(environment: environment, device: device), at: clock())
        }
        return try .success(
            AdministrationMessages.RevokedDevice(
                deviceID: device.description, environments: environments.map(\.rawValue),
                registrations: registrations))
    }
}
