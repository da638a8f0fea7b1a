import Testing

@testable import Management

@Suite("The delivery logs of several nodes")
struct ClusterLogTests {
    @Test
    func `Entries are in the order of their times, and those of one node in their own`() {
        let lines = [
            #"{"time":5,"event":"b"}"#, #"{"time":7,"event":"d"}"#, #"{"time":10,"event":"e"}"#,
            #"{"time":5,"event":"c"}"#, #"{"time":4,"event":"a"}"#, "damaged",
        ]
        #expect(ClusterLog.merged(lines) == [lines[5], lines[4], lines[0], lines[3], lines[1], lines[2]])
    }

    @Test
    func `The names of nodes that did not answer are one line of JSON`() {
        #expect(ClusterLog.line(unanswered: ["two", "one"]) == #"{"unanswered":["one","two"]}"#)
    }
}
