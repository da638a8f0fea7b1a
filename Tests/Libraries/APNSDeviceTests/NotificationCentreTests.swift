import Testing

@testable import APNSDevice

struct NotificationCentreTests {
    private func shown(
        _ id: Int, app: String = "com.example.app", thread: String = "", collapse: String? = nil,
        relevance: Double = 0,
    ) -> ShownNotification {
        var content = NotificationContent()
        content.body = "\(id)"
        content.threadID = thread
        content.relevanceScore = relevance
        return ShownNotification(
            ReceivedNotification(id: "\(id)", topic: app, bundleID: app, collapseID: collapse, payload: []), content)
    }

    @Test func `The newest notification is first`() {
        var centre = NotificationCentre()
        centre.show(shown(1))
        centre.show(shown(2))
        #expect(centre.notifications.map(\.id) == ["2", "1"])
    }

    @Test func `A notification with the same collapse identifier for the same app is replaced`() {
        var centre = NotificationCentre()
        centre.show(shown(1, collapse: "score"))
        centre.show(shown(2, app: "com.example.other", collapse: "score"))
        centre.show(shown(3, collapse: "other"))
        centre.show(shown(4, collapse: "score"))
        #expect(centre.notifications.map(\.id) == ["4", "3", "2"])
    }

    @Test func `Notifications without a collapse identifier replace nothing`() {
        var centre = NotificationCentre()
        centre.show(shown(1))
        centre.show(shown(2))
        #expect(centre.notifications.count == 2)
    }

    @Test func `Groups are by app and thread; the group with the newest notification is first`() {
        var centre = NotificationCentre()
        centre.show(shown(1, thread: "a"))
        centre.show(shown(2, thread: "b"))
        centre.show(shown(3, app: "com.example.other", thread: "a"))
        centre.show(shown(4, thread: "a"))
        let groups = centre.groups
        #expect(groups.map(\.threadID) == ["a", "a", "b"])
        #expect(groups.map { $0.notifications.map(\.id) } == [["4", "1"], ["3"], ["2"]])
    }

    @Test func `In a group the most relevant notification is first; the group with the newest notification is first`() {
        var centre = NotificationCentre()
        centre.show(shown(1, thread: "a", relevance: 0.9))
        centre.show(shown(2, thread: "a", relevance: 0.9))
        centre.show(shown(3, thread: "b", relevance: 1))
        centre.show(shown(4, thread: "a", relevance: 0.1))
        #expect(centre.groups.map { $0.notifications.map(\.id) } == [["2", "1", "4"], ["3"]])
    }

    @Test func `A missing badge leaves the badge, 0 removes it, and a number sets it`() {
        var centre = NotificationCentre()
        centre.setBadge(3, of: "a")
        centre.setBadge(nil, of: "a")
        #expect(centre.badge(of: "a") == 3 && centre.badge(of: "b") == 0)
        centre.setBadge(0, of: "a")
        #expect(centre.badge(of: "a") == 0)
    }

    @Test func `Removing an app removes its notifications`() {
        var centre = NotificationCentre()
        centre.show(shown(1))
        centre.setBadge(3, of: "com.example.app")
        centre.removeAll(of: "com.example.app")
        #expect(
            centre
                == {
                    var empty = NotificationCentre(); empty.show(shown(1)); empty.remove("1"); return empty
                }())
    }

    @Test func `If there are too many, the oldest notification is removed`() {
        var centre = NotificationCentre()
        for id in 0...NotificationCentre.maximumCount { centre.show(shown(id)) }
        #expect(centre.notifications.count == NotificationCentre.maximumCount)
        #expect(centre.notifications.last?.id == "1")
    }
}
