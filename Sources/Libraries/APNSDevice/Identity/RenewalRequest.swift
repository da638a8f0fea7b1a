import Credentials
import Crypto
import NIOCore

/// A request for a new certificate with a new key for the same device.
struct RenewalRequest {
    private let old: DeviceCredentials
    private let key: P256.Signing.PrivateKey
    let request: CourierRequest

    init(of old: DeviceCredentials) throws(DeviceError) {
        self.old = old
        key = P256.Signing.PrivateKey()
        do {
            let pem = try SigningRequest.pem(for: key)
            request = CourierRequest(.post, "/1/renewals", body: ByteBuffer(string: pem))
        } catch {
            throw DeviceError(.badIdentity, error.description)
        }
    }

    /// Returns the renewed identity.
    func identity(from response: CourierResponse) throws(DeviceError) -> DeviceIdentity {
        if let refusal = response.refusal { throw refusal }
        let identity = DeviceIdentity(
            environment: old.environment, deviceID: old.deviceID, keyPEM: key.pemRepresentation,
            chainPEM: String(decoding: response.body, as: UTF8.self))
        guard identity.validity != nil else {
            throw DeviceError(.badResponse, "The courier's answer is not a certificate.")
        }
        return identity
    }
}
