import Notifications
import Testing

private let start = #""event":"start","timestamp":1,"attributes-type":"M","attributes":{},"content-state":{}"#

/// What every device ignores of Live Activities, and what an alert shows.
struct ActivityFaultTests {
    @Test(
        arguments: [
            (#"{\#(start),"alert":"x"}"#, nil), (#"{\#(start),"alert":{"title":"x"}}"#, nil),
            (#"{\#(start),"alert":{"body":{"loc-key":"k"}}}"#, nil), (#"{\#(start)}"#, .alert),
            (#"{\#(start),"alert":""}"#, .alert), (#"{\#(start),"alert":{}}"#, .alert),
            (#"{\#(start),"alert":{"launch-image":"i","loc-args":["1"]}}"#, .alert),
            (
                #"{"event":"start","timestamp":1,"attributes":{},"content-state":{},"alert":"x"}"#,
                .key("attributes-type", .start)
            ),
            (
                #"{"event":"start","timestamp":1,"attributes-type":"M","content-state":{},"alert":"x"}"#,
                .key("attributes", .start)
            ),
            (#"{"event":"update","timestamp":1,"content-state":{}}"#, nil),
            (#"{"event":"update","timestamp":1}"#, .key("content-state", .update)),
            (#"{"event":"update","content-state":{}}"#, .timestamp),
            (#"{"event":"update","timestamp":"1","content-state":{}}"#, .timestamp),
            (#"{"event":"end","timestamp":1}"#, nil), (#"{"event":"end"}"#, .timestamp),
            (#"{"timestamp":1,"content-state":{}}"#, .event), (#"{"event":"begin","timestamp":1}"#, .event),
            ("{}", .event),
        ] as [(String, ActivityFault?)])
    func `A push for a Live Activity needs what its event needs`(_ aps: String, _ fault: ActivityFault?) throws {
        let aps = try #require(JSONValue(Array(aps.utf8)))
        #expect(ActivityFault(in: aps.members) == fault)
        if let fault { #expect(fault.description.hasPrefix("aps has no ")) }
    }
}
