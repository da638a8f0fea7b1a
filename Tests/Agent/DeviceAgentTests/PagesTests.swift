import CPages
import Testing

struct PagesTests {
    @Test func `A program and its libraries go on after their pages were given back`() {
        for number in 0..<10 {
            carillon_pages_release()
            #expect("\(number)".count == 1)
        }
    }
}
