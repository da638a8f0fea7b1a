import Notifications
import Testing

struct EnvironmentTests {
    @Test func `Environments are the two of the guide`() {
        #expect(Environment.allCases.map(\.rawValue) == ["development", "production"])
    }
}
