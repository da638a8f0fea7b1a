import Testing

@testable import Management

@Suite("The delivery logs of several nodes")
struct ClusterLogTests {
    @Test("Entries are in the order of their times, and those of one node in their own")
    func merges() {
        let lines = [
            #"{"time":5,"event":"b"}"#, #"{"time":7,"event":"d"}"#, #"{"time":10,"event":"e"}"#,
            #"{"time":5,"event":"c"}"#, #"{"time":4,"event":"a"}"#, "damaged",
        ]
        #expect(ClusterLog.merged(lines) == [lines[5], lines[4], lines[0], lines[3], lines[1], lines[2]])
    }

    @Test("The names of nodes that did not answer are one line of JSON")
    func unanswered() {
        #expect(ClusterLog.line(unanswered: ["two", "one"]) == #"{"unanswered":["one","two"]}"#)
    }
}
