/// What happens to a machine that matters to its connection.
enum MachineChange: Sendable, Hashable {
    /// An address was added to a network interface, as after a cable was plugged in.
    case addressAdded
    /// The machine was suspended, for so long.
    case resumed(Duration)
    /// The clock of the machine was set.
    case clockSet
}

#if os(Linux)
    import CClock
    import Foundation

    /// Calls a function when the machine changes. So a device that waits connects at once, and not after its delay, and one that is
    /// connected finds out whether its connection still works.
    ///
    /// A thread waits for the kernel's messages (rtnetlink(7), timerfd_create(2)), without any timer. If the kernel gives none,
    /// nothing is called: the device connects after its delay, and finds a dead connection by its keep-alive.
    final class MachineChanges: Sendable {
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

        init(_ changed: @escaping @Sendable (MachineChange) -> Void) {
            let pipe = Pipe()
            ending = pipe.fileHandleForWriting
            // poll(2) ignores a negative descriptor, so each of them may be missing.
            let (netlink, clock) = (Self.openNetlink() ?? -1, carillon_clock_open())
            // What happens after this function returns is seen.
            let jumps = ClockJumps(suspended: .nanoseconds(carillon_clock_suspended()))
            Thread.detachNewThread {
                Self.read(netlink, clock, jumps, until: pipe.fileHandleForReading.fileDescriptor, changed)
                // The thread keeps the reading end open.
                withExtendedLifetime(pipe.fileHandleForReading) {}
                for descriptor in [netlink, clock] where descriptor >= 0 { Foundation.close(descriptor) }
            }
        }

        private static func openNetlink() -> CInt? {
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

        private static func read(
            _ netlink: CInt,
            _ clock: CInt,
            _ jumps: ClockJumps,
            until ending: CInt,
            _ changed: (MachineChange) -> Void,
        ) {
            var (netlink, clock, jumps) = (netlink, clock, jumps)
            let readable = Int16(POLLIN)
            while true {
                var waiting = [(netlink, readable), (clock, readable), (ending, 0)]
                    .map { pollfd(fd: $0, events: $1, revents: 0) }
                let ready = poll(&waiting, 3, -1)
                if ready < 0, errno == EINTR { continue }
                guard ready > 0, waiting[2].revents == 0 else { return }
                if waiting[0].revents != 0, !readMessage(netlink, changed) { netlink = -1 }
                if waiting[1].revents != 0 {
                    if isCancelled(clock) {
                        changed(jumps.clockChanged(suspended: .nanoseconds(carillon_clock_suspended())))
                    } else {
                        clock = -1
                    }
                }
            }
        }

        /// - Returns: whether there may be more.
        private static func readMessage(_ netlink: CInt, _ changed: (MachineChange) -> Void) -> Bool {
            var message = [UInt8](repeating: 0, count: bufferBytes)
            let count = recv(netlink, &message, message.count, CInt(MSG_DONTWAIT))
            // ENOBUFS: there were too many messages to keep, so at least one of them may be about an address.
            if count < 0, errno == ENOBUFS { changed(.addressAdded) }
            if count < 0 { return [EINTR, EAGAIN, ENOBUFS].contains(errno) }
            guard count > 0 else { return false }
            // struct nlmsghdr: four bytes of length, then two of the type, in the machine's order.
            let type =
                count < 6 ? 0 : message.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 4, as: UInt16.self) }
            if type == newAddress { changed(.addressAdded) }
            return true
        }

        /// - Returns: whether the timer says that the clock was changed.
        private static func isCancelled(_ clock: CInt) -> Bool {
            var expirations: UInt64 = 0
            return Foundation.read(clock, &expirations, MemoryLayout<UInt64>.size) < 0 && errno == ECANCELED
        }

        /// Ends the thread.
        func end() {
            // The pipe is closed with its last reference if this fails.
            try? ending.close()
        }
    }
#else
    /// Other systems do not say when the network is back; the device connects after its delay.
    final class MachineChanges: Sendable {
        init(_ changed: @escaping @Sendable (MachineChange) -> Void) {}
        func end() {}
    }
#endif
