import PrivateFiles

/// Tells what the commands of an earlier agent have left behind from programs that have nothing to do with the agent.
///
/// If an agent was killed, what its commands have left behind has another parent, and ``ProcessTree`` does not show whose it was. But a
/// confined command cannot take back `no_new_privs` (prctl(2)), nor leave its control group (cgroups(7)) by itself, and whatever it
/// starts inherits both.
struct Leftovers: Sendable {
    /// The name of the file with the control groups, in the agent's folder.
    static let file = "command-groups"
    /// The largest number of control groups that are remembered. Each start of an agent may have another one.
    static let maximumGroups = 100
    /// The files in `/proc` have a few thousand bytes, and so has the agent's own.
    private static let maximumBytes = 65_536

    /// The control groups of the agents that have had this folder since the machine's start.
    private let groups: Set<String>

    init(groups: Set<String>) { self.groups = groups }

    /// Remembers this agent's control group in its folder.
    /// - Returns: nil if nothing can be told apart, because the agent has `no_new_privs` itself, as in the package's unit. There systemd ends
    ///   what is in the control group together with the agent.
    init?(remembering folder: String) {
        guard let status = Self.text(of: "/proc/self/status"), Self.confinedUser(status) == nil,
            let group = Self.group(of: "self"), let boot = Self.text(of: "/proc/sys/kernel/random/boot_id")
        else { return nil }
        let path = folder + "/" + Self.file
        let begin = boot.filter { !$0.isNewline }
        let lines = (Self.text(of: path) ?? "").split(separator: "\n").map { String($0) }
        var known = lines.first == begin ? lines.dropFirst().filter { $0 != group } : []
        known = Array(known.suffix(Self.maximumGroups - 1)) + [group]
        // If this fails, only this agent's own group is known, and the store reports a disk in trouble.
        _ = try? Files.make(path, Array(([begin] + known).joined(separator: "\n").utf8), replacing: true)
        groups = Set(known)
    }

    /// Whether a process that does not descend from this agent is what a command has left behind.
    /// - Parameter user: the agent's user, who is also that of its commands.
    func contains(_ process: Int32, of user: UInt32) -> Bool {
        guard let status = Self.text(of: "/proc/\(process)/status"), Self.confinedUser(status) == user,
            let group = Self.group(of: "\(process)")
        else { return false }
        return groups.contains(group)
    }

    /// The user of a process with `no_new_privs`; nil if it has not.
    /// - Parameter status: the contents of its file (proc_pid_status(5)).
    static func confinedUser(_ status: String) -> UInt32? {
        var user: UInt32?
        var isConfined = false
        for line in status.split(separator: "\n") {
            let words = line.split { $0 == "\t" || $0 == " " }
            guard words.count > 1 else { continue }
            if words[0] == "Uid:" { user = UInt32(words[1]) }  // fits: nil if it does not
            if words[0] == "NoNewPrivs:" { isConfined = words[1] == "1" }
        }
        return isConfined ? user : nil
    }

    /// The control group of a process, on one line.
    private static func group(of process: String) -> String? {
        text(of: "/proc/\(process)/cgroup")?.split(separator: "\n").joined(separator: " ")
    }

    private static func text(of path: String) -> String? {
        ProcessStatus.contents(of: path, upTo: maximumBytes).map { String(decoding: $0, as: UTF8.self) }
    }
}
