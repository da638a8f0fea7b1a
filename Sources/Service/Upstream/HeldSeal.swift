import Credentials
package import Delivery
package import Storage
package import Trust

/// Encrypts the device token and the payload of a held notification with the service's key.
///
/// The app, the environment and the notification's identifier are authenticated, so that nobody who can write to the
/// database can send a payload to another device or to another app.
package struct HeldSeal: Sendable {
    private let seal: CredentialSeal

    package init(_ seal: CredentialSeal) { self.seal = seal }

    package func sealed(_ push: HeldPush) throws(StoreError) -> HeldPush {
        do throws(TrustError) {
            return push.with(
                deviceToken: try seal.seal(push.deviceToken, as: Self.name(.token, of: push)),
                payload: try seal.seal(push.payload, as: Self.name(.payload, of: push)))
        } catch {
            throw StoreError(.unavailable, "A held notification could not be encrypted.")
        }
    }

    /// - Returns: nil if it was not encrypted for its row with the service's key.
    package func opened(_ push: HeldPush) -> HeldPush? {
        // Damage is the only reason for which this fails.
        guard let token = try? seal.open(push.deviceToken, as: Self.name(.token, of: push)),
            let payload = try? seal.open(push.payload, as: Self.name(.payload, of: push))
        else { return nil }
        return push.with(deviceToken: token, payload: payload)
    }

    private enum Part: String {
        case token
        case payload
    }

    private static func name(_ part: Part, of push: HeldPush) -> String {
        "held \(part.rawValue) \(push.place.description) \(push.headers.id)"
    }
}

extension HeldPush {
    fileprivate func with(deviceToken: [UInt8], payload: [UInt8]) -> HeldPush {
        HeldPush(
            number: number, place: place, expires: expires, taken: taken, deviceToken: deviceToken, payload: payload,
            headers: headers)
    }
}
