/// Finds the command from which a process descends.
///
/// It knows processes by number and start, because the kernel uses numbers again. The agent is the parent of every descendant whose
/// own parent has ended (PR_SET_CHILD_SUBREAPER), so neither a double fork nor a session of its own leads out of the tree.
struct ProcessTree {
    /// What a process is.
    enum Place: Sendable, Hashable {
        /// It does not descend from the agent.
        case outside
        /// It descends from a command that runs.
        case command(Command)
        /// It descends from the agent, and nobody knows from which command; or it has ended.
        case unknown
    }

    /// A command that runs.
    struct Command: Sendable, Hashable {
        let process: Int32
        let start: UInt64
        /// The app whose command it is.
        let bundleID: String
    }

    /// The longest way up that is followed. Beyond it the process is unknown. A unit has 256 tasks (TasksMax).
    static let maximumSteps = 1000

    /// The agent's own process.
    let agent: Int32
    let commands: [Int32: Command]
    /// Finds out about a process; nil if it is not there, or is another user's and hidden (proc(5), hidepid).
    let status: (Int32) -> ProcessStatus?

    /// - Parameter start: when the process started, if that is known for sure.
    func place(of process: Int32) -> Place {
        guard process > 0, process != agent else { return process == agent ? .outside : .unknown }
        guard var own = status(process), !own.isEnded else { return .unknown }
        var current = process
        for _ in 0..<Self.maximumSteps {
            if let command = commands[current], command.start == own.start { return .command(command) }
            if own.parent == agent { return orphan(own) }
            // Number 1 is the start of the machine or of the container, and 0 is outside of it.
            guard own.parent > 1 else { return .outside }
            let parent = status(own.parent)
            // Meanwhile the parent may have ended, and its number may be another process's. It was the parent all the time if it
            // still is: a process whose parent ends gets another one.
            guard let again = status(current), again.start == own.start else { return .unknown }
            guard again.parent == own.parent else {
                own = again
                continue
            }
            // A hidden parent is another user's. A command cannot become another user, so this is none.
            guard let parent else { return .outside }
            (current, own) = (own.parent, parent)
        }
        return .unknown
    }

    /// A process whose parent is the agent, and which is none of the commands. A process cannot join the session of another command, so
    /// the session tells its command as long as that runs.
    private func orphan(_ orphan: ProcessStatus) -> Place {
        guard let command = commands[orphan.session], let leader = status(command.process),
            leader.start == command.start,
            !leader.isEnded
        else { return .unknown }
        return .command(command)
    }
}
