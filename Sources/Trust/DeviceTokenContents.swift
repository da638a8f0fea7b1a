import Foundation
package import Notifications

/// What a device token says, to the service alone.
package struct DeviceTokenContents: Sendable, Hashable {
    package let device: DeviceID
    package let app: AppID
    /// Counts the tokens that this app on this device has been given: an old one never comes back.
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

    /// What is sealed.
    var plaintext: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        withUnsafeBytes(of: device.rawValue.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: app.rawValue.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: generation.bigEndian) { bytes += $0 }
        return bytes
    }

    /// - Returns: nil unless there are ``byteCount`` bytes, and after them none but zeros.
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
