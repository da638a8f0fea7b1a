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
        let key = DeviceKey(environment: try environment(request.environment), device: device)
        try await devices.revoke(key, at: clock())
        return try .success(AdministrationMessages.RevokedDevice(deviceID: device.description))
    }
}
