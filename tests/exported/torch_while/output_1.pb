B	getitem_1J0l¨a>–E‡½ÌU¾ÂãN>
>è¦€½O­¾2Çd>H|>K¡¦½-\¾Xc>