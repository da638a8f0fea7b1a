import Foundation
package import Notifications

/// The contents of a device token, which only the service can read.
package struct DeviceTokenContents: Sendable, Hashable {
    package let device: DeviceID
    package let app: AppID
    /// The number of the token among those that this app on this device has had. An old token never becomes valid
    /// again.
    package let generation: UInt32

    package init(device: DeviceID, app: AppID, generation: UInt32) {
        self.device = device
        self.app = app
        self.generation = generation
    }
}

extension DeviceTokenContents {
    /// Device, app, generation, big-endian.
    static let byteCount = 16

    /// The bytes that are encrypted.
    var plaintext: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        withUnsafeBytes(of: device.rawValue.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: app.rawValue.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: generation.bigEndian) { bytes += $0 }
        return bytes
    }

    /// - Returns: Nil unless there are ``byteCount`` bytes followed only by zeros.
    init?(plaintext: Data) {
        guard plaintext.count >= Self.byteCount, plaintext.dropFirst(Self.byteCount).allSatisfy({ $0 == 0 }) else {
            return nil
        }
        self = plaintext.withUnsafeBytes { bytes in
            DeviceTokenContents(
                device: DeviceID(rawValue: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))),
                app: AppID(rawValue: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))),
                generation: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self)),
            )
        }
    }
}
