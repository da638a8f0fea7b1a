import Testing

@testable import DeviceAgent

/// From which command a process descends.
@Suite struct ProcessTreeTests {
    private static let agent: Int32 = 100

    private struct Entry {
        var parent: Int32
        var session: Int32
        var start: UInt64 = 10
        var isEnded = false

        var status: ProcessStatus? {
            ProcessStatus(
                line: Array("7 (a (b) c) \(isEnded ? "Z" : "S") \(parent) 1 \(session) \(more) \(start) 0 0".utf8))
        }
        private var more: String { Array(repeating: "0", count: 15).joined(separator: " ") }
    }

    /// The command 200 of the app `a`, and the command 300 of the app `b`.
    private static let processes: [Int32: Entry] = [
        1: Entry(parent: 0, session: 1), 50: Entry(parent: 1, session: 50), agent: Entry(parent: 50, session: 50),
        200: Entry(parent: agent, session: 200), 201: Entry(parent: 200, session: 200),
        202: Entry(parent: 201, session: 202), 300: Entry(parent: agent, session: 300),
        400: Entry(parent: 50, session: 50),
    ]

    private static let commands = [200: ("a", 10), 300: ("b", 10)].reduce(into: [Int32: ProcessTree.Command]()) {
        let (app, start) = $1.value
        $0[Int32($1.key)] = ProcessTree.Command(process: Int32($1.key), start: UInt64(start), bundleID: app)
    }

    private func place(
        of process: Int32, _ change: (inout [Int32: Entry]) -> Void = { _ in }
    ) -> ProcessTree.Place {
        var processes = Self.processes
        change(&processes)
        return ProcessTree(agent: Self.agent, commands: Self.commands) { [processes] in processes[$0]?.status ?? nil }
            .place(of: process)
    }

    private func app(_ place: ProcessTree.Place) -> String? {
        if case .command(let command) = place { command.bundleID } else { nil }
    }

    @Test func `A command and its descendants are its app, also in a session of their own`() {
        for process in [200, 201, 202] as [Int32] { #expect(app(place(of: process)) == "a") }
        #expect(app(place(of: 300)) == "b")
    }

    @Test func `The agent and what does not descend from it are outside`() {
        for process in [50, Self.agent, 400] { #expect(place(of: process) == .outside) }
        // The parent is another user's, and hidden.
        #expect(place(of: 400) { $0[50] = nil } == .outside)
    }

    @Test func `An orphan is known by its session as long as the command runs`() {
        #expect(app(place(of: 203) { $0[203] = Entry(parent: Self.agent, session: 200) }) == "a")
        #expect(place(of: 203) { $0[203] = Entry(parent: Self.agent, session: 203) } == .unknown)
        // The command has ended, and another process has its number.
        let reused = place(of: 203) {
            $0[203] = Entry(parent: Self.agent, session: 200)
            $0[200] = Entry(parent: 50, session: 200, start: 20)
        }
        #expect(reused == .unknown)
        // The command has ended, and was not collected yet.
        let ended = place(of: 203) {
            $0[203] = Entry(parent: Self.agent, session: 200)
            $0[200]?.isEnded = true
        }
        #expect(ended == .unknown)
        #expect(place(of: 202) { $0[201] = Entry(parent: Self.agent, session: 300) }.self != .outside)
    }

    @Test func `A process that has the number of a command that has ended is not that command`() {
        #expect(place(of: 200) { $0[200] = Entry(parent: 50, session: 50, start: 20) } == .outside)
        #expect(place(of: 200) { $0[200] = Entry(parent: Self.agent, session: 50, start: 20) } == .unknown)
    }

    @Test func `A process that has ended is unknown`() {
        #expect(place(of: 999) == .unknown && place(of: 0) == .unknown && place(of: -1) == .unknown)
        #expect(place(of: 201) { $0[201]?.isEnded = true } == .unknown)
    }

    @Test func `If the parent ends meanwhile, its successor is followed`() {
        var asked = 0
        let tree = ProcessTree(agent: Self.agent, commands: Self.commands) { process in
            var entry = Self.processes[process]
            if process == 202 {
                asked += 1
                // At first the parent is a process that is gone by now, and whose number a process outside has.
                entry?.parent = asked == 1 ? 400 : 201
            }
            return entry?.status ?? nil
        }
        #expect(app(tree.place(of: 202)) == "a")
    }

    @Test func `A way that does not end is unknown`() {
        #expect(
            place(of: 500) {
                for number in 500...9000 as ClosedRange<Int32> { $0[number] = Entry(parent: number + 1, session: 1) }
            } == .unknown)
    }

    @Test func `A process with no_new_privs is confined, and its user is known`() {
        let status = "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\nNoNewPrivs:\t1\nSeccomp:\t0\n"
        #expect(Leftovers.confinedUser(status) == 1000)
        #expect(Leftovers.confinedUser(status.replacing("NoNewPrivs:\t1", with: "NoNewPrivs:\t0")) == nil)
        #expect(Leftovers.confinedUser("") == nil)
    }
}
