#if os(Linux)
    import CommonTesting
    import Foundation
    import Synchronization
    import Testing

    @testable import DeviceAgent

    /// How long the agent watches the machine, with a socket of the test in the place of the kernel's.
    @Suite(.timeLimit(.minutes(1)))
    struct MachineChangesTests {
        /// A message of the kernel: a header of 16 bytes (netlink(7), struct nlmsghdr).
        private static func message(_ type: UInt16) -> [UInt8] {
            var header: [UInt8] = [16, 0, 0, 0]
            withUnsafeBytes(of: type) { header += $0 }
            return header + [UInt8](repeating: 0, count: 10)
        }

        private static func pair() throws -> (kernel: CInt, agent: CInt) {
            var both: [CInt] = [-1, -1]
            try #require(socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue), 0, &both) == 0)
            return (both[0], both[1])
        }

        @Test func `A new address is told until the task is cancelled, and then nothing is left open`() async throws {
            let (kernel, agent) = try Self.pair()
            defer { close(kernel) }
            let (changes, told) = AsyncStream.makeStream(of: MachineChange.self)
            let watching = Task {
                await MachineChanges.watch(MachineChanges.Sources(netlink: agent, clock: -1)) { told.yield($0) }
                told.finish()
            }
            // RTM_NEWLINK, then RTM_NEWADDR.
            for type in [16, 20] as [UInt16] {
                let message = Self.message(type)
                #expect(send(kernel, message, message.count, CInt(MSG_NOSIGNAL)) == message.count)
            }
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next() == .addressAdded)
            watching.cancel()
            #expect(await iterator.next() == nil)
            // The other end was closed before the function returned.
            await watching.value
            let (sent, code) = (send(kernel, [1], 1, CInt(MSG_NOSIGNAL)), errno)
            #expect(sent == -1 && code == EPIPE)
        }

        @Test func `If the kernel says nothing any more, the task still ends`() async throws {
            let (kernel, agent) = try Self.pair()
            close(kernel)
            let watching = Task {
                await MachineChanges.watch(MachineChanges.Sources(netlink: agent, clock: -1)) { _ in }
            }
            watching.cancel()
            await watching.value
        }

        @Test func `A task that was cancelled before does not wait`() async {
            let watching = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                await MachineChanges.watch { _ in }
            }
            await watching.value
        }
    }
#endif
