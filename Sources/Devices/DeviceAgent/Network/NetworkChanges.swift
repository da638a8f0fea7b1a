#if os(Linux)
    import Foundation

    /// Calls a function when an address was added to a network interface of this machine, as after a cable was plugged in
    /// or the machine has woken up (rtnetlink(7)). So a waiting device connects at once, and not after its delay.
    ///
    /// A thread waits for the messages, without any timer. If the system gives no such messages, nothing is called, and
    /// the device connects after its delay.
    final class NetworkChanges: Sendable {
        /// The address of a netlink socket (netlink(7), struct sockaddr_nl).
        private struct Address {
            var family = sa_family_t(AF_NETLINK)
            var padding: UInt16 = 0
            var port: UInt32 = 0
            /// The groups of IPv4 and IPv6 addresses (rtnetlink(7)).
            var groups: UInt32 = 0x10 | 0x100
        }

        /// NETLINK_ROUTE, and RTM_NEWADDR.
        private static let protocolNumber: CInt = 0
        private static let newAddress: UInt16 = 20
        /// The size of the buffer for messages, as netlink(7) advises.
        private static let bufferBytes = 8192

        /// Closing it ends the thread.
        private let ending: FileHandle

        init(_ changed: @escaping @Sendable () -> Void) {
            let pipe = Pipe()
            ending = pipe.fileHandleForWriting
            guard let netlink = Self.open() else { return }
            Thread.detachNewThread {
                Self.read(netlink, until: pipe.fileHandleForReading.fileDescriptor, changed)
                // The thread keeps the reading end open.
                withExtendedLifetime(pipe.fileHandleForReading) {}
                Foundation.close(netlink)
            }
        }

        private static func open() -> CInt? {
            let netlink = socket(AF_NETLINK, CInt(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), protocolNumber)
            guard netlink >= 0 else { return nil }
            var address = Address()
            let isBound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(netlink, $0, socklen_t(MemoryLayout<Address>.size)) == 0
                }
            }
            guard isBound else {
                Foundation.close(netlink)
                return nil
            }
            return netlink
        }

        private static func read(_ netlink: CInt, until ending: CInt, _ changed: () -> Void) {
            var message = [UInt8](repeating: 0, count: bufferBytes)
            while true {
                var waiting = [
                    pollfd(fd: netlink, events: Int16(POLLIN), revents: 0), pollfd(fd: ending, events: 0, revents: 0),
                ]
                let ready = poll(&waiting, 2, -1)
                if ready < 0, errno == EINTR { continue }
                guard ready > 0, waiting[1].revents == 0 else { return }
                let count = recv(netlink, &message, message.count, CInt(MSG_DONTWAIT))
                // ENOBUFS: there were too many messages to keep, so at least one of them may be about an address.
                if count < 0, errno == ENOBUFS { changed() }
                if count < 0, [EINTR, EAGAIN, ENOBUFS].contains(errno) { continue }
                guard count > 0 else { return }
                // struct nlmsghdr: four bytes of length, then two of the type, in the machine's order.
                let type =
                    count < 6 ? 0 : message.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 4, as: UInt16.self) }
                if type == newAddress { changed() }
            }
        }

        /// Ends the thread.
        func end() {
            // The pipe is closed with its last reference if this fails.
            try? ending.close()
        }
    }
#else
    /// Other systems do not say when the network is back; the device connects after its delay.
    final class NetworkChanges: Sendable {
        init(_ changed: @escaping @Sendable () -> Void) {}
        func end() {}
    }
#endif
