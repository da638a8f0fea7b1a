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

    /// Tells what happens to the machine. So a device that waits connects at once, and not after its delay, and one that is connected
    /// finds out whether its connection still works.
    ///
    /// A thread waits for the kernel's messages (rtnetlink(7), timerfd_create(2)), without any timer. It lives as long as
    /// ``watch(_:)`` takes. If the kernel gives no messages, nothing is told: the device connects after its delay, and finds a dead
    /// connection by its keep-alive.
    enum MachineChanges {
        /// Where the kernel tells of changes. poll(2) ignores a negative descriptor, so each of them may be missing.
        struct Sources {
            var netlink: CInt
            var clock: CInt

            func close() {
                for descriptor in [netlink, clock] where descriptor >= 0 { Foundation.close(descriptor) }
            }
        }

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

        /// Calls a function when the machine changes, on a thread of its own, until the task is cancelled. When this returns, the thread
        /// has ended.
        static func watch(_ changed: @escaping @Sendable (MachineChange) -> Void) async {
            await watch(Sources(netlink: openNetlink() ?? -1, clock: carillon_clock_open()), changed)
        }

        /// - Parameter sources: are closed at the end.
        static func watch(_ sources: Sources, _ changed: @escaping @Sendable (MachineChange) -> Void) async {
            let jumps = ClockJumps(suspended: .nanoseconds(carillon_clock_suspended()))
            // The thread sees that the writing end was closed.
            let ending = Pipe()
            await withTaskCancellationHandler {
                await withCheckedContinuation { ended in
                    Thread.detachNewThread {
                        read(sources, jumps, until: ending.fileHandleForReading.fileDescriptor, changed)
                        sources.close()
                        ended.resume()
                    }
                }
            } onCancel: {
                // It is open, and nobody else closes it.
                try? ending.fileHandleForWriting.close()
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
            _ sources: Sources,
            _ jumps: ClockJumps,
            until ending: CInt,
            _ changed: (MachineChange) -> Void,
        ) {
            var (netlink, clock, jumps) = (sources.netlink, sources.clock, jumps)
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
    }
#else
    /// Other systems do not say when the network is back; the device connects after its delay.
    enum MachineChanges {
        static func watch(_ changed: @escaping @Sendable (MachineChange) -> Void) async {}
    }
#endif
