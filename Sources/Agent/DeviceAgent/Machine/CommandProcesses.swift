import Foundation
import Synchronization

#if os(Linux)
    import CLandlock
#endif

/// The commands that run, and what they leave behind.
///
/// If the agent is the parent of what commands leave behind, it also has to collect what has ended, or the kernel keeps an entry of
/// each. swift-subprocess collects the commands themselves and needs their status, so this collects nothing else's.
final class CommandProcesses: Sendable {
    private struct State {
        var commands: [Int32: ProcessTree.Command] = [:]
        /// All programs that the agent has started and that swift-subprocess will collect.
        var own: Set<Int32> = []
        /// How many programs are being started, whose number is not known yet.
        var starting = 0
        var isCollecting = false
    }

    /// The pause before another look while the first of the ended processes is not for this to collect.
    private static let pause: TimeInterval = 0.01

    private let state = Mutex(State())
    /// Whether processes are told apart, because commands are confined.
    private let isActive: Bool
    /// What the commands of earlier agents have left behind; nil if that cannot be told.
    private let leftovers: Leftovers?

    /// - Parameters:
    ///   - isActive: whether this process becomes the parent of what its commands leave behind.
    ///   - folder: the agent's folder, in which it remembers where it has run.
    init(isActive: Bool, folder: String) {
        leftovers = isActive ? Leftovers(remembering: folder) : nil
        #if os(Linux)
            self.isActive = isActive && carillon_become_subreaper() == 0
        #else
            self.isActive = false
        #endif
    }

    // MARK: Running

    /// A program is about to be started.
    func starts() { state.withLock { $0.starting += 1 } }

    /// The program was started.
    /// - Parameter bundleID: the app whose command it is; nil if it is none.
    func started(_ process: Int32, of bundleID: String?) {
        // The number cannot be used again before the program was collected, which comes after this.
        let status = isActive && bundleID != nil ? ProcessStatus(of: process) : nil
        state.withLock { state in
            state.starting -= 1
            state.own.insert(process)
            if let bundleID, let status {
                state.commands[process] = ProcessTree.Command(process: process, start: status.start, bundleID: bundleID)
            }
        }
    }

    /// The program has ended.
    /// - Parameter process: its number; nil if it was never started.
    func ended(_ process: Int32?) {
        let collects = state.withLock { state in
            guard let process else {
                state.starting -= 1
                return false
            }
            state.own.remove(process)
            state.commands[process] = nil
            guard isActive, !state.isCollecting else { return false }
            state.isCollecting = true
            return true
        }
        if collects { collect() }
    }

    // MARK: Who asks

    #if os(Linux)
        /// What the process at the other end of a socket is.
        /// - Parameters:
        ///   - socket: its descriptor.
        ///   - process: its number, as the system gives it for the socket.
        func place(of process: Int32, at socket: CInt) -> ProcessTree.Place {
            guard isActive else { return .outside }
            // With this descriptor, the process that was found is the one that has connected.
            let descriptor = carillon_peer_process(socket)
            // An older kernel does not know the option. Otherwise the process has ended.
            guard descriptor >= 0 || errno == ENOPROTOOPT else { return .unknown }
            defer { if descriptor >= 0 { close(descriptor) } }
            let tree = ProcessTree(agent: getpid(), commands: state.withLock(\.commands)) { ProcessStatus(of: $0) }
            var place = tree.place(of: process)
            if place == .outside, process != getpid(), leftovers?.contains(process, of: geteuid()) == true {
                place = .unknown
            }
            if descriptor >= 0 {
                var ended = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&ended, 1, 0) == 0 else { return .unknown }
            }
            return place
        }
    #endif

    // MARK: Collecting

    /// Begins a thread that collects what commands have left behind, until nothing is left. It waits for the kernel, without any timer.
    private func collect() {
        #if os(Linux)
            Thread.detachNewThread { [self] in
                while true {
                    let process = carillon_ended_child()
                    guard process > 0 else {
                        if errno == EINTR { continue }
                        return state.withLock { $0.isCollecting = false }
                    }
                    // One that is being started may have ended already, and its number is not known yet.
                    let isLeft = state.withLock { $0.starting == 0 && !$0.own.contains(process) }
                    if isLeft { waitpid(process, nil, WNOHANG) } else { Thread.sleep(forTimeInterval: Self.pause) }
                }
            }
        #endif
    }
}
