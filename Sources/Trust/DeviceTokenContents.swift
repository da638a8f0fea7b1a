import Foundation
package import Notifications

/// The contents of a device token, which only the service can read.
package struct DeviceTokenContents: Sendable, Hashable {
    package let device: DeviceID
    package let app: AppID
    /// The token's generation, and the service that it is for (``TokenNumber``).
    package let number: UInt32

    package init(device: DeviceID, app: AppID, generation: UInt32, service: TopicKind = .app) {
        self.init(device: device, app: app, number: TokenNumber.make(generation: generation, service: service))
    }

    package init(device: DeviceID, app: AppID, number: UInt32) {
        self.device = device
        self.app = app
        self.number = number
    }

    /// The number of the token among those that this app on this device has had. An old token never becomes valid
    /// again.
    package var generation: UInt32 { TokenNumber.generation(of: number) }

    /// The service of the app that the token is for; `app` for the app's own token.
    package var service: TopicKind { TokenNumber.service(of: number) ?? .app }

    /// Whether the token may be used for a topic.
    /// - Parameter isStrict: whether an app's own token is only for the app. Otherwise it is for all of its services.
    package func isFor(_ kind: TopicKind, isStrict: Bool) -> Bool {
        service == kind || service == .app && !isStrict
    }
}

extension DeviceTokenContents {
    /// Device, app, number, big-endian.
    static let byteCount = 16

    /// The bytes that are encrypted.
    var plaintext: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        withUnsafeBytes(of: device.rawValue.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: app.rawValue.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
        return bytes
    }

    /// - Returns: Nil unless there are ``byteCount`` bytes followed only by zeros, or if the service is not known here.
    init?(plaintext: Data) {
        guard plaintext.count >= Self.byteCount, plaintext.dropFirst(Self.byteCount).allSatisfy({ $0 == 0 }) else {
            return nil
        }
        let contents = plaintext.withUnsafeBytes { bytes in
            DeviceTokenContents(
                device: DeviceID(rawValue: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))),
                app: AppID(rawValue: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))),
                number: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self)),
            )
        }
        guard TokenNumber.service(of: contents.number) != nil else { return nil }
        self = contents
    }
}
