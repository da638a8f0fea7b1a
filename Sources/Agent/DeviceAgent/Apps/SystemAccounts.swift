import Foundation

/// The users and groups of this machine.
struct SystemAccounts: AccountNames {
    /// A buffer for one entry: the largest that glibc suggests for a group with many members.
    private static let bufferBytes = 1 << 16

    func user(_ name: String) -> UInt32? {
        if let number = UInt32(name) { return number }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Self.bufferBytes) { buffer in
            guard let space = buffer.baseAddress, getpwnam_r(name, &entry, space, buffer.count, &found) == 0,
                found != nil
            else {
                return nil
            }
            return entry.pw_uid
        }
    }

    func group(_ name: String) -> UInt32? {
        if let number = UInt32(name) { return number }
        var entry = Foundation.group()
        var found: UnsafeMutablePointer<Foundation.group>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Self.bufferBytes) { buffer in
            guard let space = buffer.baseAddress, getgrnam_r(name, &entry, space, buffer.count, &found) == 0,
                found != nil
            else {
                return nil
            }
            return entry.gr_gid
        }
    }
}
